//! VPCs and instances: what they are given, what DPUs are told of them, and when it is free again.

mod documented;
mod instances;
mod places;
mod security_groups;
mod updates;
mod vpc_holders;
mod vpcs;
