//! The site file: what an operator knows about a site before it runs. YAML, read as a whole; every fault is named with
//! its line, and nothing of a file with a fault is used.

mod host_spec;
mod hosts;
mod network;
mod section;
mod single;

use std::{fmt, path::Path};

use marked_yaml::LoaderOptions;
use proto::site::HostSpec;
use rules::StatePath;
use types::{MOST_LEVELS, nesting};

use crate::network::SiteNetwork;
pub use host_spec::{SpecFault, check_hosts};
use section::{Faults, Section};

/// What a site file says.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteFile {
    /// Network settings.
    pub network: Option<SiteNetwork>,
    /// Hosts, well formed and unique.
    pub hosts: Vec<HostSpec>,
}

/// Most bytes of a site file.
const MOST_BYTES: u64 = 64 << 20;

/// Why a site file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFileError {
    file: String,
    /// Line (0 if there is none) and fault, by line.
    faults: Vec<(usize, String)>,
}

impl SiteFile {
    /// Reads a site file.
    ///
    /// # Errors
    /// All its faults.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SiteFileError> {
        let file = path.as_ref().display().to_string();
        match types::read_text(path.as_ref(), MOST_BYTES) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) => Err(SiteFileError { file, faults: vec![(0, format!("cannot be read: {error}"))] }),
        }
    }

    /// Reads the text of a site file; `file` is its name in errors.
    ///
    /// # Errors
    /// All its faults.
    pub fn parse(file: &str, text: &str) -> Result<Self, SiteFileError> {
        let refuse = |faults| SiteFileError { file: file.to_owned(), faults };
        if nesting(text) > MOST_LEVELS {
            return Err(refuse(vec![(0, format!("is nested deeper than {MOST_LEVELS} levels"))]));
        }
        let options = LoaderOptions::default().error_on_duplicate_keys(true);
        let node = marked_yaml::parse_yaml_with_options(0, text, options)
            .map_err(|error| refuse(vec![section::load_fault(&error)]))?;
        let Some(root) = node.as_mapping() else {
            return Err(refuse(vec![(1, "a site file is a mapping of `network` and `hosts`".to_owned())]));
        };
        let faults = Faults::default();
        let root = Section::new(root, String::new(), &faults);
        root.only(&["network", "hosts"]);
        let network = root.section("network").and_then(|section| network::read(&section));
        let specs = hosts::read(&root);
        if let Err(wrong) = check_hosts(&specs, &StatePath::default()) {
            for mut fault in wrong {
                if let Some(other) = &mut fault.other {
                    *other = format!("{other} (line {})", faults.line_of(other));
                }
                faults.add_at_field(&fault.field, fault.to_string());
            }
        }
        let mut faults = faults.take();
        faults.sort();
        faults.dedup();
        if faults.is_empty() { Ok(Self { network, hosts: specs }) } else { Err(refuse(faults)) }
    }
}

impl fmt::Display for SiteFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (line, fault)) in self.faults.iter().enumerate() {
            if place > 0 {
                writeln!(f)?;
            }
            if *line == 0 { write!(f, "{}: {fault}", self.file)? } else { write!(f, "{}:{line}: {fault}", self.file)? }
        }
        Ok(())
    }
}

impl std::error::Error for SiteFileError {}
