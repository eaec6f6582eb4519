//! `sitectl rules explain` and `sitectl rules snapshot-example`.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rules::{Snapshot, StatePath};

use super::{Pack, no_state};
use crate::{explain, failure::Failure, host::pair, output::Format};

#[derive(clap::Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pack: Pack,
    /// Snapshot as YAML or JSON, `-` for standard input
    #[arg(long, value_name = "FILE")]
    snapshot: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct Example {
    /// State of the host
    state: String,
    #[command(flatten)]
    pack: Pack,
    /// How many DPUs it has
    #[arg(long, default_value_t = 2)]
    dpus: usize,
    /// Sets a fact, e.g. `instance.present=true` or `dpu0.instance_observed=true`; may be repeated
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = pair)]
    facts: Vec<(String, String)>,
}

impl Explain {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let rules = self.pack.load()?;
        let text = read(&self.snapshot)?;
        let path = self.snapshot.display();
        // JSON is YAML, too.
        let snapshot: Snapshot =
            serde_yaml::from_str(&text).map_err(|error| Failure::Refused(format!("{path} is no snapshot: {error}")))?;
        if !rules.has_state(&snapshot.state.path) {
            return Err(no_state(&rules, &self.pack.dir, snapshot.state.path.as_str()));
        }
        let told = controller::told(rules.explain(&snapshot), &snapshot, rules.hash());
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(snapshot.now);
        format.answer(&told, |told| explain::text(told, now))
    }
}

impl Example {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let path = StatePath::from(self.state.as_str());
        // Without the rules at hand any name is taken.
        if self.pack.dir.is_dir() {
            let rules = self.pack.load()?;
            if !rules.has_state(&path) {
                return Err(no_state(&rules, &self.pack.dir, &self.state));
            }
        }
        let value = |text: &str| serde_yaml::from_str(text).unwrap_or_else(|_| serde_yaml::Value::from(text));
        let facts: BTreeMap<_, _> = self.facts.iter().map(|(name, text)| (name.clone(), value(text))).collect();
        let dpus = self.dpus.min(16);
        let mut snapshot = Snapshot::from_facts(&facts, dpus).map_err(Failure::Usage)?;
        snapshot.state.path = path;
        match format {
            Format::Json => format.answer(&snapshot, |_| String::new()),
            Format::Table => serde_yaml::to_string(&snapshot)
                .map(|text| text.trim_end().to_owned())
                .map_err(|error| Failure::Refused(format!("cannot write the snapshot: {error}"))),
        }
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let fault = |error: io::Error| Failure::Usage(format!("cannot read {}: {error}", path.display()));
    if path.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(fault)?;
        return Ok(text);
    }
    let text = types::read_text(path, 64 << 20).map_err(fault)?;
    if types::nesting(&text) > types::MOST_LEVELS {
        return Err(fault(io::Error::other(format!("it is nested deeper than {} levels", types::MOST_LEVELS))));
    }
    Ok(text)
}
