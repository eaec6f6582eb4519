//! `nv`: revisions, validation, and the words in which NVUE says yes and no.

mod check;
mod command;
mod revisions;
mod schema;
mod show;
mod tree;

pub use command::{NvArgs, run_nv};
pub use revisions::Revisions;
pub use tree::Tree;
