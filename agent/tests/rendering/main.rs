//! What a response of the controller becomes on a DPU: pure functions from one to the other, and the command that shows it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

mod choices;
mod cli;
mod dhcp;
mod generated;
mod laws;
mod lists;
mod pairs;
mod responses;
