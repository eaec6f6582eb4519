//! The reconciler with what it really works on: a database file, the shipped rules, and simulated BMCs.

mod concurrency;
mod crash;
mod dead_bmc;
mod life;
mod makers;
mod operators;
mod power_cycle;
mod reports;
mod tenants;
mod work;
