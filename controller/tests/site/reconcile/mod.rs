//! The reconciler with what it really works on: a database file, the shipped rules, and simulated BMCs.

mod concurrency;
mod crash;
mod dead_bmc;
mod life;
mod operators;
mod power_cycle;
mod redfish;
mod reports;
mod tenants;
