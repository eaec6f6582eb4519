//! The agent's loop against a controller that speaks the real protocol and against `nv`, `vtysh` and a DHCP server that
//! are shell scripts in a directory of their own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

mod applying;
mod authority;
mod controller;
mod doubt;
mod dpu;
mod hostile_templates;
mod killed;
mod last_request;
mod line;
mod looking;
mod nvue_rest;
mod probes;
mod process;
mod release;
mod renewal;
mod rest;
mod transport;
