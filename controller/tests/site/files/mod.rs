//! The files that operators write: the site file and the configuration.

mod examples;
mod one_address;
mod site_file;
