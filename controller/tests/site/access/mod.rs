//! Who gets in, what they may call, and how much of the controller one of them may take.

mod crowd;
mod renewal;
mod roles;
