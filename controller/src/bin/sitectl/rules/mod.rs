//! `sitectl rules`: the tools that make rules safe to edit. All but those that name a controller work on a directory,
//! without one.

mod activate;
mod check;
mod compare;
mod explain;
mod fmt;
mod graph;

use std::path::{Path, PathBuf};

use rules::{RuleSet, fact_dictionary};
use serde::Serialize;

use crate::{
    connect::ControllerArgs,
    failure::Failure,
    output::{Format, colours, table},
};

#[derive(clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// Checks a pack: every fault with its source line
    Check(Pack),
    /// Runs the tests beside a pack and names the arms that none of them reached
    Test(check::Test),
    /// The facts that rules can read
    Facts {
        /// Only facts whose name contains this
        #[arg(default_value = "")]
        part: String,
    },
    /// What the rules decide for a snapshot, and why
    Explain(explain::Explain),
    /// Prints a snapshot to start from
    SnapshotExample(explain::Example),
    /// States and transitions as a drawing
    Graph(graph::Graph),
    /// What changed from one pack to another: states, arms, gates, limits
    Diff(compare::Diff),
    /// What the rules would have decided over a recorded history
    Replay(compare::Replay),
    /// Lays the files of a pack out
    Fmt(fmt::Fmt),
    /// Tries a pack on the live site and activates it
    Apply(activate::Apply),
    /// Activates an earlier pack again
    Rollback(activate::Rollback),
    /// Which packs were active since when
    History,
}

/// Where a pack is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Pack {
    /// Directory of the pack
    #[arg(default_value = "rules/managed_host", env = "SITECTL_RULES")]
    dir: PathBuf,
}

impl Pack {
    /// The pack if it is without fault, else its faults.
    fn load(&self) -> Result<RuleSet, Failure> {
        controller::load_pack_dir(&self.dir, colours()).map_err(|faults| {
            let count = faults.len();
            let faults = faults.join("\n\n");
            let noun = if count == 1 { "fault" } else { "faults" };
            Failure::Refused(format!("{} has {count} {noun}\n\n{faults}", self.dir.display()))
        })
    }
}

/// No state of this name, with the nearest that the rules have.
fn no_state(rules: &RuleSet, dir: &Path, state: &str) -> Failure {
    let known = rules.states().map(|known| known.as_str()).chain(rules.states().map(|known| known.top()));
    let hint = types::nearest(state, known).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
    Failure::NotFound(format!("the rules in {} have no state `{state}`{hint}", dir.display()))
}

pub(crate) async fn run(command: RulesCommand, controller: &ControllerArgs, format: Format) -> Result<String, Failure> {
    match command {
        RulesCommand::Check(pack) => check::check(&pack, format),
        RulesCommand::Test(test) => test.run(format),
        RulesCommand::Facts { part } => facts(&part, format),
        RulesCommand::Explain(explain) => explain.run(format),
        RulesCommand::SnapshotExample(example) => example.run(format),
        RulesCommand::Graph(graph) => graph.run(controller, format).await,
        RulesCommand::Diff(diff) => diff.run(format),
        RulesCommand::Replay(replay) => replay.run(format),
        RulesCommand::Fmt(fmt) => fmt.run(format),
        RulesCommand::Apply(apply) => apply.run(controller.connect().await?, format).await,
        RulesCommand::Rollback(rollback) => rollback.run(controller.connect().await?, format).await,
        RulesCommand::History => activate::history(controller.connect().await?, format).await,
    }
}

#[derive(Serialize)]
struct FactLine {
    name: String,
    r#type: String,
    optional: bool,
    meaning: &'static str,
    /// It is unknown until its supplier has told.
    reported: bool,
    supplied_by: String,
}

fn facts(part: &str, format: Format) -> Result<String, Failure> {
    let line = |fact: &rules::Fact| FactLine {
        name: format!("{}.{}", fact.area, fact.name),
        r#type: fact.kind.to_string(),
        optional: fact.optional,
        reported: fact.reported,
        meaning: fact.meaning.trim(),
        supplied_by: fact.supplier.to_string(),
    };
    let all = fact_dictionary().into_iter().map(line);
    let lines: Vec<FactLine> = all.filter(|line| line.name.contains(part)).collect();
    format.answer(&lines, |lines| {
        let row = |line: &FactLine| {
            let or = match (line.optional, line.reported) {
                (true, _) => " or absent",
                (_, true) => " or unknown",
                _ => "",
            };
            let kind = format!("{}{or}", line.r#type);
            [line.name.clone(), kind, line.meaning.to_owned(), line.supplied_by.clone()]
        };
        table(["FACT", "TYPE", "MEANING", "SUPPLIED BY"], lines.iter().map(row).collect(), "no such fact")
    })
}
