//! The reconciler with what it really works on: a database file, the shipped rules, and a Redfish service on loopback.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

mod bmc;
mod concurrency;
mod crash;
mod dead_bmc;
mod life;
mod operators;
mod power_cycle;
mod redfish;
mod reports;
mod site;
mod tenants;
