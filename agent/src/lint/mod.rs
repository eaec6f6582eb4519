//! A lint of NVUE's files: it finds what NVUE would refuse, or accept and ignore, before NVUE sees it. `render` calls it for
//! everything that it writes.
//!
//! A file is read strictly (duplicate keys are faults), no value may be null, all keys and values must be known to the
//! releases of Cumulus Linux that HBN is built on, or be HBN's own, and every VRF, VNI, access list, policy and peer
//! group that is referred to must be defined.

mod kinds;
mod read;
mod references;
mod schema;
mod tree;

use std::fmt;

pub(crate) use tree::{Clash, Node, yaml_value};

/// Everything that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LintError {
    /// The faults, at least one, in the order of the file's paths.
    pub faults: Vec<Fault>,
}

/// One fault, with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Names from the root to the fault, separated by `/`, as in `/vrf/vpc_1/evpn`; empty if the file as a whole is at
    /// fault. `{set}` is left out.
    pub path: String,
    /// What is wrong.
    pub fault: String,
}

/// How many faults are worth reading in one message.
pub(crate) const SHOWN: usize = 10;

impl fmt::Display for LintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{fault}")?;
        }
        match self.faults.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.fault) } else { write!(f, "{}: {}", self.path, self.fault) }
    }
}

/// Checks the text of a file for `nv config replace`: a list of maps with `header` and `set`, or one such map.
///
/// # Errors
/// With every fault that was found; a file that does not load has one.
pub fn check(text: &str) -> Result<(), LintError> {
    read(text).map(drop)
}

/// Checks a text and gives its settings as a tree.
pub(crate) fn read(text: &str) -> Result<Node, LintError> {
    let mut faults = Vec::new();
    let root = read::settings(text, &mut faults);
    if faults.is_empty() {
        schema::check(&root, &mut faults);
        references::check(&root, &mut faults);
    }
    if faults.is_empty() { Ok(root) } else { Err(LintError { faults }) }
}
