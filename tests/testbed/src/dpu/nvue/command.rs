use std::{fs, io, path::PathBuf, thread, time::Duration};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use super::{
    Tree, check,
    revisions::{Revisions, State},
    schema, show,
};
use crate::dpu::{Answer, DpuDir, Fault, FaultKind, Scenario, Step, dir::millis_now};

/// Stand-in for NVUE's `nv` on a simulated DPU.
#[derive(Debug, Parser)]
#[command(name = "nv", disable_version_flag = true)]
pub struct NvArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Manage revisions.
    Config {
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Show what the DPU runs.
    Show {
        /// An object, such as `interface p0_if`.
        path: Vec<String>,
        #[arg(short, long, default_value = "auto")]
        output: String,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Replace the pending configuration with that of a file.
    Replace { file: PathBuf },
    /// Put a file over the pending configuration.
    Patch { file: PathBuf },
    /// What applying would change.
    Diff {
        /// Revisions to compare: a number, `applied`, `startup`, `pending` or `empty`.
        #[arg(num_args = 0..=2)]
        revisions: Vec<String>,
        #[arg(short, long, default_value = "yaml")]
        output: String,
    },
    /// Apply the pending revision, or the one named.
    Apply(Apply),
    /// Drop the pending revision.
    Detach,
    /// Print a configuration.
    Show {
        #[arg(long, alias = "rev", default_value = "pending")]
        revision: String,
        #[arg(long)]
        applied: bool,
        #[arg(short, long, default_value = "yaml")]
        output: String,
    },
    /// List revisions that were applied.
    History {
        #[arg(short, long, default_value = "auto")]
        output: String,
    },
    /// List all revisions.
    Revision {
        #[arg(short, long, default_value = "auto")]
        output: String,
    },
    /// Keep the applied configuration over a restart.
    Save,
}

#[derive(Debug, Args)]
struct Apply {
    revision: Option<u64>,
    #[arg(short = 'y', visible_alias = "y", long)]
    assume_yes: bool,
    #[arg(long)]
    assume_no: bool,
    /// Roll back unless confirmed within this time: `300s`, `5m`, `1h`, or minutes.
    #[arg(long, num_args = 0..=1, default_missing_value = "10m")]
    confirm: Option<String>,
    #[arg(long)]
    confirm_yes: bool,
    #[arg(long)]
    confirm_no: bool,
    #[arg(long)]
    confirm_status: bool,
    #[arg(short, long)]
    message: Option<String>,
}

const NVUED_DOWN: &str = "Error: Could not connect to nvued.\nTo start nvued, use\n\n    sudo systemctl start nvued\n\n\
    To check the status of nvued, use\n\n    sudo systemctl status nvued\n";

/// Runs one `nv` command on a DPU.
///
/// # Errors
/// If the DPU's files cannot be read or written: a fault of the simulation, not a simulated one.
pub fn run_nv(dir: &DpuDir, args: NvArgs) -> Result<Answer> {
    fs::create_dir_all(dir.join("nv"))?;
    let _lock = dir.lock("nv/lock")?;
    let scenario = dir.scenario()?;
    let mut nv = Nv { revisions: Revisions::open(dir)?, scenario };
    let step = match &args.verb {
        Verb::Config { verb } => match verb {
            ConfigVerb::Replace { .. } | ConfigVerb::Patch { .. } => Step::Replace,
            ConfigVerb::Diff { .. } => Step::Diff,
            ConfigVerb::Apply(apply) if apply.confirm_yes => Step::Confirm,
            ConfigVerb::Apply(apply) if apply.confirm_no => Step::RollBack,
            ConfigVerb::Apply(_) | ConfigVerb::Save => Step::Apply,
            ConfigVerb::Detach => Step::Detach,
            ConfigVerb::Show { .. } | ConfigVerb::History { .. } | ConfigVerb::Revision { .. } => Step::Show,
        },
        Verb::Show { .. } => Step::Show,
    };
    let fault = nv.fault(step)?;
    match &fault {
        Some(Fault { kind: FaultKind::Hang, secs, .. }) => thread::sleep(Duration::from_secs_f64(*secs)),
        Some(Fault { kind: FaultKind::NvuedDown, .. }) => return Ok(Answer::complains(NVUED_DOWN)),
        Some(fault) if step != Step::Apply && after(fault).is_none() => return Ok(refusal(fault)),
        _ => {}
    }
    match args.verb {
        Verb::Config { verb } => match verb {
            ConfigVerb::Replace { file } => nv.propose(&file, None),
            ConfigVerb::Patch { file } => {
                let base = nv.revisions.tree(nv.revisions.pending().unwrap_or(nv.revisions.applied()))?;
                nv.propose(&file, Some(base))
            }
            ConfigVerb::Diff { revisions, output } => nv.diff(&revisions, &output),
            ConfigVerb::Apply(apply) => nv.apply(&apply, fault.as_ref()),
            ConfigVerb::Detach => nv.revisions.detach().map(|()| Answer::default()),
            ConfigVerb::Show { revision, applied, output } => {
                let revision = if applied { "applied".to_owned() } else { revision };
                Ok(nv
                    .named(&revision)?
                    .map_or_else(|| unknown_revision(&revision), |tree| show::config(&tree, &output)))
            }
            ConfigVerb::History { output } => Ok(show::history(&nv.revisions, &output, true)),
            ConfigVerb::Revision { output } => Ok(show::history(&nv.revisions, &output, false)),
            ConfigVerb::Save => {
                nv.revisions.save_applied()?;
                Ok(Answer::says("saved [rev_id: applied]\n"))
            }
        },
        Verb::Show { path, output } => Ok(show::object(&nv.revisions.running()?, &path, &output)),
    }
}

struct Nv {
    revisions: Revisions,
    scenario: Scenario,
}

impl Nv {
    /// The fault that strikes this step, if one does.
    fn fault(&mut self, step: Step) -> Result<Option<Fault>> {
        for (place, fault) in self.scenario.nv.faults.iter().enumerate() {
            if fault.on == step && self.revisions.strikes(place, fault.times)? {
                return Ok(Some(fault.clone()));
            }
        }
        Ok(None)
    }

    fn propose(&mut self, file: &PathBuf, base: Option<Tree>) -> Result<Answer> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => return Ok(Answer::fails(format!("Error: {}: {error}\n", file.display()))),
        };
        let mut tree = match Tree::parse(&text) {
            Ok(tree) => tree,
            Err(error) => return Ok(Answer::fails(format!("{error}\n"))),
        };
        if let Some(mut base) = base {
            base.merge(tree);
            tree = base;
        }
        let (id, new) = self.revisions.propose(&tree)?;
        Ok(Answer::says(if new { format!("created [rev_id: {id}]\n") } else { String::new() }))
    }

    fn diff(&self, names: &[String], output: &str) -> Result<Answer> {
        let (from, to) = match names {
            [] => ("applied", "pending"),
            [to] => ("applied", to.as_str()),
            [from, to, ..] => (from.as_str(), to.as_str()),
        };
        let (Some(from_tree), Some(to_tree)) = (self.named(from)?, self.named(to)?) else {
            return Ok(unknown_revision(&format!("{from}, {to}")));
        };
        let (mut set, unset) = from_tree.diff(&to_tree);
        if self.scenario.nv.masked_secret && self.revisions.pending().is_some() {
            let masked = "- set: {system: {aaa: {user: {agent: {hashed-password: '*'}}}}}";
            set.get_or_insert_default().merge(Tree::parse(masked)?);
        }
        Ok(show::diff(set, unset, output))
    }

    fn apply(&mut self, args: &Apply, fault: Option<&Fault>) -> Result<Answer> {
        let kept = if self.scenario.nv.auto_save { State::Saved } else { State::Applied };
        if args.confirm_status {
            let left = self.revisions.trial().map(|trial| trial.until.saturating_sub(millis_now()) / 1000);
            return Ok(Answer::says(match left {
                Some(secs) => format!("{secs} seconds left before the configuration is rolled back\n"),
                None => "No configuration waits to be confirmed\n".to_owned(),
            }));
        }
        if args.confirm_yes || args.confirm_no {
            let (ended, word) = if args.confirm_yes {
                (self.revisions.confirm(kept)?, kept.word())
            } else {
                (self.revisions.roll_back()?, State::RolledBack.word())
            };
            return Ok(match ended {
                Some(_) if fault.and_then(after).is_some() => {
                    Answer::complains(fault.and_then(after).unwrap_or_default())
                }
                Some(id) => Answer::says(format!("{word} [rev_id: {id}]\n")),
                None => Answer::complains("Error: There is no configuration to confirm.\n"),
            });
        }
        let Some(id) = args.revision.or(self.revisions.pending()) else {
            return Ok(Answer::says("no config diff\n"));
        };
        if !self.revisions.all().contains_key(&id) {
            return Ok(unknown_revision(&id.to_string()));
        }
        if self.revisions.trial().is_some() {
            return Ok(Answer::complains("Error: Another configuration waits to be confirmed.\n"));
        }
        let mut said = String::new();
        if let Some(warning) = &self.scenario.nv.warning {
            said = format!("Warning: {warning}\n\n");
            if args.assume_no || (!args.assume_yes && !asked(&said)?) {
                return Ok(Answer::complains(if args.assume_no { said } else { String::new() }));
            }
        }
        let proposed = self.revisions.tree(id)?;
        let mut reasons = schema::faults(&proposed);
        reasons.extend(check::faults(&proposed));
        if let Some(fault @ Fault { kind: FaultKind::Refuse | FaultKind::ExitZeroError, .. }) = fault {
            reasons.push(fault.reason.clone().unwrap_or_else(|| "Config invalid at interface: refused".into()));
        }
        if !reasons.is_empty() {
            self.revisions.mark(id, State::Invalid)?;
            let mut answer = invalid(id, &reasons);
            if fault.is_some_and(|fault| fault.kind == FaultKind::ExitZeroError) {
                answer.code = 0;
            }
            return Ok(answer);
        }
        thread::sleep(Duration::from_secs_f64(self.scenario.nv.apply_secs));
        let until = args.confirm.as_deref().map(|text| millis_now() + confirm_time(text));
        let state = if until.is_some() { State::Confirm } else { kept };
        match fault.map(|fault| fault.kind) {
            Some(FaultKind::HalfApplied) => {
                self.revisions.break_off(id)?;
                let reason = fault.and_then(|fault| fault.reason.as_deref()).unwrap_or("a service did not reload");
                return Ok(Answer::complains(format!("{said}Failed to apply [rev_id: {id}]\n  {reason}\n")));
            }
            Some(FaultKind::DiesUnapplied) => return Ok(Answer::complains(format!("{said}reloading{NVUED_DOWN}"))),
            _ => self.revisions.put_in_force(id, state, until)?,
        }
        if let Some(words) = fault.and_then(after) {
            return Ok(Answer::complains(format!("{said}{words}")));
        }
        Ok(Answer::says(format!("{said}{} [rev_id: {id}]\n", state.word())))
    }

    /// The configuration of a revision by its name or number.
    fn named(&self, name: &str) -> Result<Option<Tree>> {
        let id = match name {
            "empty" => return Ok(Some(Tree::default())),
            "applied" => self.revisions.applied(),
            "startup" => self.revisions.startup(),
            "pending" => self.revisions.pending().unwrap_or(self.revisions.applied()),
            number => match number.parse() {
                Ok(id) if self.revisions.all().contains_key(&id) => id,
                _ => return Ok(None),
            },
        };
        self.revisions.tree(id).map(Some)
    }
}

/// What is said when a step took effect and failed all the same.
fn after(fault: &Fault) -> Option<String> {
    match fault.kind {
        FaultKind::DiesApplied => Some(format!("reloading{NVUED_DOWN}")),
        FaultKind::FailsApplied => {
            Some(format!("{}\n", fault.reason.as_deref().unwrap_or("Unrecoverable internal error")))
        }
        _ => None,
    }
}

/// A refusal by a step other than apply.
fn refusal(fault: &Fault) -> Answer {
    let text = format!("Error: {}\n", fault.reason.as_deref().unwrap_or("refused"));
    if fault.kind == FaultKind::ExitZeroError { Answer::says(text) } else { Answer::fails(text) }
}

fn invalid(id: u64, reasons: &[String]) -> Answer {
    let reasons: String = reasons.iter().map(|reason| format!("  {reason}\n")).collect();
    Answer::complains(format!("Invalid config [rev_id: {id}]\n{reasons}"))
}

fn unknown_revision(name: &str) -> Answer {
    Answer::complains(format!("Error: Revision '{name}' does not exist.\n"))
}

/// Asks as NVUE does. An end of input is a no.
fn asked(said: &str) -> Result<bool> {
    Answer::says(format!("{said}Are you sure? [y/N] ")).print()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Milliseconds of a time such as `300s`, `5m` or `1h`; a bare number is minutes.
fn confirm_time(text: &str) -> u64 {
    let (digits, factor) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) if text.ends_with('s') => (digits, 1_000.0),
        Some(digits) if text.ends_with('h') => (digits, 3_600_000.0),
        Some(digits) => (digits, 60_000.0),
        None => (text, 60_000.0),
    };
    digits.parse::<f64>().map_or(600_000, |number| (number * factor) as u64)
}
