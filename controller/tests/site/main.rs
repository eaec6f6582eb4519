//! The controller through its public interface: agents, tenants and operators as the protocols see them, hosts that move,
//! the store, and the files that operators write. `support` is the one site that all rooms stand on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

#[macro_use]
mod support;

mod access;
mod agents;
mod daemon;
mod files;
mod network;
mod packs;
mod reconcile;
mod sitectl;
mod store;
