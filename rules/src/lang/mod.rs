//! The rule language: files of scripts become a checked [`crate::ir::pack::Pack`]. Imports `ir` alone.

pub(crate) mod check;
pub(crate) mod declare;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod load;
pub(crate) mod lower;
pub(crate) mod resolve;
pub(crate) mod sandbox;
