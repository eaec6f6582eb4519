//! The database: what it promises, and what a controller does when it fails or is not the one that was meant.

mod failing_database;
mod lost_database;
mod opening;
mod rows;
