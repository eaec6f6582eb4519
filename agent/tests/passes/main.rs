//! The agent's loop against a controller that speaks the real protocol and against `nv`, `vtysh` and a DHCP server that
//! are shell scripts in a directory of their own.

mod applying;
mod controller;
mod dpu;
mod line;
