//! What the actions of arms do.
//!
//! An arm names an action; [`plan`] knows what the name does. A plan has up to two parts: *remote* work at a BMC, which is
//! written to the journal before it runs and after it ended, and *rows*, which change in the very transaction that commits
//! the decision. So a crash at any point leaves either nothing, or a journal line that says what may have happened.

mod journal;
mod registry;
mod release_guard;
mod remote;
mod rows;
mod stale;

pub use journal::JournalEntry;
pub use registry::action_names;

pub(crate) use journal::{Before, Journal, Step, is_for};
pub(crate) use registry::{is_handed_over, plan};
pub(crate) use remote::Found;
pub(crate) use rows::Rows;
pub(crate) use stale::stale_before;

use bmc::BmcError;

use crate::store::StoreError;

/// Why an action did not work.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The rules name an action that this controller does not have. Loading a pack refuses that, so the pack is newer.
    #[error("there is no action `{0}` in this controller")]
    Unknown(String),
    /// The BMC did not do it.
    #[error(transparent)]
    Bmc(#[from] BmcError),
    /// The database did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The action is for a DPU that the host does not have.
    #[error("action `{action}` is for DPU `{dpu}`, which the host does not have")]
    NoSuchDpu {
        /// The action.
        action: String,
        /// Machine id.
        dpu: String,
    },
    /// The action lacks an argument, or one of another type.
    #[error("action `{action}` needs the argument `{argument}`: {what}")]
    Argument {
        /// The action.
        action: String,
        /// The argument.
        argument: &'static str,
        /// What it has to be.
        what: &'static str,
    },
    /// There is no instance, or no network update, that the action could be for.
    #[error("action `{action}` needs {what}")]
    Nothing {
        /// The action.
        action: String,
        /// What is not there.
        what: &'static str,
    },
    /// It would free addresses that a DPU may still use.
    #[error("addresses stay held: DPU {dpu} {why}; rules have to wait for that")]
    Held {
        /// Name of the DPU.
        dpu: String,
        /// What it has not said yet.
        why: String,
    },
    /// A service of the site has it to do.
    #[error("Waiting for a service of the site to do `{action}`")]
    Awaited {
        /// The action.
        action: String,
    },
    /// A machine that was told to turn off is still on, so it was not powered on again.
    #[error("the machine did not turn off within {seconds} s")]
    NotOff {
        /// The limit.
        seconds: u64,
    },
    /// It took too long.
    #[error("action `{action}` did not end within {seconds} s")]
    Late {
        /// The action.
        action: String,
        /// The limit.
        seconds: u64,
    },
}
