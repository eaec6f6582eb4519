//! See `benches/readiness.rs`.
