//! The site's data through its public interface: agents and tenants as the protocol sees them, the store, the files that
//! operators write.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

#[macro_use]
mod support;

mod access;
mod agents;
mod crowd;
mod daemon;
mod documented;
mod examples;
mod failing_database;
mod guarded;
mod instances;
mod lost_database;
mod one_address;
mod pack_bounds;
mod places;
mod renewal;
mod rule_packs;
mod security_groups;
mod site_file;
mod store;
mod updates;
mod vpc_holders;
mod vpcs;
