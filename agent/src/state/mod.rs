//! The state directory: what must survive a restart of the agent, who holds the directory, and what people are shown.
//! Every room above may call it.

mod digest;
mod intent;
mod lock;
mod marker;
mod private_file;
mod status;

pub(crate) use digest::Digest;
pub(crate) use intent::{Intent, IntentFile};
pub use lock::StateDirLock;
pub(crate) use marker::{AppliedDir, Marker, Note, Versions, timestamp};
pub use private_file::MAX_FILE_BYTES;
pub(crate) use private_file::{modified, remove, write_private};
pub use status::{LastResponse, Runs, StatusFile};
