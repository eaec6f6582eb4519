//! The intermediate representation: a loaded pack, the snapshot of a host, and decisions, as plain data. Imports nothing
//! else of the crate.

pub(crate) mod decision;
pub(crate) mod diagnostic;
pub(crate) mod expr;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod limits;
pub(crate) mod line;
pub(crate) mod members;
pub(crate) mod operand;
pub(crate) mod operators;
pub(crate) mod pack;
pub(crate) mod read_set;
pub(crate) mod signature;
pub(crate) mod snapshot;
pub(crate) mod specialise;
pub(crate) mod state_path;
pub(crate) mod trace;
pub(crate) mod view;
