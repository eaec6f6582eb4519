//! `sitectl rules check` and `sitectl rules test`.

use rules::SuiteResult;
use serde_json::json;

use super::Pack;
use crate::{failure::Failure, output::Format};

/// A pack without fault: its sizes and its hash.
pub(super) fn check(pack: &Pack, format: Format) -> Result<String, Failure> {
    let rules = pack.load()?;
    let (states, arms, gates) = rules.size();
    let value = json!({
        "hash": rules.hash(), "states": states, "arms": arms, "gates": gates
    });
    let dir = pack.dir.display();
    format.answer(&value, |_| {
        format!("{dir}: {states} states, {arms} arms, {gates} gates, no fault\nhash {}", rules.hash())
    })
}

#[derive(clap::Args)]
pub(crate) struct Test {
    #[command(flatten)]
    pack: Pack,
    /// Fails, too, if there is an arm that no test reached
    #[arg(long)]
    covered: bool,
}

impl Test {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let rules = self.pack.load()?;
        let files = rules::read_tests(&self.pack.dir).map_err(|error| {
            Failure::Refused(format!("cannot read the tests of {}: {error}", self.pack.dir.display()))
        })?;
        let result = rules.run_tests(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        let text = format.answer(&result, report)?;
        if result.passed() && (result.untested.is_empty() || !self.covered) {
            return Ok(text);
        }
        Err(Failure::Found(text))
    }
}

fn report(result: &SuiteResult) -> String {
    let mut lines = Vec::new();
    for case in &result.cases {
        if let Some(failure) = &case.failure {
            lines.push(format!("FAILED {}: {}\n  {failure}", case.file, case.name));
        }
    }
    for arm in &result.untested {
        lines.push(format!("no test reaches {}: {} in {}", arm.at, arm.arm, arm.state));
    }
    let failed = result.cases.iter().filter(|case| case.failure.is_some()).count();
    let reached = result.arms - result.untested.len();
    let (cases, arms) = (result.cases.len(), result.arms);
    lines.push(format!("{cases} tests, {failed} failed; {reached} of {arms} arms reached"));
    lines.join("\n")
}
