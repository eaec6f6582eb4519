//! Runs a small site on this machine and shows the life of an instance on it.

fn main() {}
