//! `sitectl rules apply`, `rollback` and `history`.

use proto::site::{
    ApplyRulesRequest, ApplyRulesResponse, ListRulePacksRequest, ListRulePacksResponse, RollbackRulesRequest, RuleFile,
};

use super::Pack;
use crate::{
    connect::Controller,
    failure::Failure,
    output::{Format, clock, table},
};

#[derive(clap::Args)]
pub(crate) struct Apply {
    #[command(flatten)]
    pack: Pack,
    #[command(flatten)]
    how: How,
}

#[derive(clap::Args)]
pub(crate) struct Rollback {
    /// Content hash of the pack, as `sitectl rules history` shows it
    hash: String,
    #[command(flatten)]
    how: How,
}

#[derive(clap::Args)]
struct How {
    /// Activates it although hosts would be decided otherwise
    #[arg(long)]
    yes: bool,
    /// Activates it however many hosts would be decided otherwise
    #[arg(long, requires = "yes")]
    force: bool,
    /// Only says what would happen
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Apply {
    pub(super) async fn run(self, mut controller: Controller, format: Format) -> Result<String, Failure> {
        let files = controller::read_pack_dir(&self.pack.dir).map_err(|error| Failure::Usage(error.to_string()))?;
        let files: Vec<RuleFile> =
            files.into_iter().map(|file| RuleFile { path: file.path, text: file.text }).collect();
        let force = self.how.force;
        // Faults are nicer to read where colours can be used; but the site is to know that it runs on stale rules.
        if let Err(faults) = self.pack.load() {
            let failure = controller.failure();
            let request = ApplyRulesRequest { files, dry_run: self.how.dry_run, force };
            controller.site.apply_rules(request).await.map_err(failure)?;
            return Err(faults);
        }
        self.how
            .run(format, async |dry_run| {
                let failure = controller.failure();
                let request = ApplyRulesRequest { files: files.clone(), dry_run, force };
                Ok(controller.site.apply_rules(request).await.map_err(failure)?.into_inner())
            })
            .await
    }
}

impl Rollback {
    pub(super) async fn run(self, mut controller: Controller, format: Format) -> Result<String, Failure> {
        let failure = controller.failure();
        let packs = controller.site.list_rule_packs(ListRulePacksRequest {}).await.map_err(failure)?.into_inner().packs;
        let mut found: Vec<&str> =
            packs.iter().map(|pack| pack.hash.as_str()).filter(|hash| hash.starts_with(&self.hash)).collect();
        found.sort_unstable();
        found.dedup();
        let hash = match found.as_slice() {
            [only] => (*only).to_owned(),
            [] => return Err(Failure::NotFound(format!("no pack of the site has the hash {}", self.hash))),
            _ => return Err(Failure::Usage(format!("several packs have a hash that starts with {}", self.hash))),
        };
        let force = self.how.force;
        self.how
            .run(format, async |dry_run| {
                let failure = controller.failure();
                let request = RollbackRulesRequest { hash: hash.clone(), dry_run, force };
                Ok(controller.site.rollback_rules(request).await.map_err(failure)?.into_inner())
            })
            .await
    }
}

impl How {
    /// First tries, then does it if nothing changes or the operator has agreed.
    async fn run(
        &self,
        format: Format,
        mut call: impl AsyncFnMut(bool) -> Result<ApplyRulesResponse, Failure>,
    ) -> Result<String, Failure> {
        let tried = call(true).await?;
        let text = format.answer(&tried, told)?;
        if self.dry_run {
            return if tried.refusal.is_empty() { Ok(text) } else { Err(not_activated(&text)) };
        }
        if tried.refusal.is_empty() && !tried.changes.is_empty() && !self.yes {
            let force = if tried.objection.is_empty() { "" } else { " --force" };
            return Err(not_activated(&format!("{text}\nagree with --yes{force}")));
        }
        // What is refused is offered all the same: the site is to know that it runs on stale rules.
        let done = call(false).await?;
        let text = format.answer(&done, told)?;
        if done.applied { Ok(text) } else { Err(not_activated(&text)) }
    }
}

fn not_activated(why: &str) -> Failure {
    Failure::Refused(format!("the rules are not activated\n\n{why}"))
}

fn told(answer: &ApplyRulesResponse) -> String {
    let mut parts = Vec::new();
    parts.extend(answer.faults.iter().cloned());
    if !answer.stranded.is_empty() {
        let rows = answer.stranded.iter().map(|host| [host.name.clone(), host.state.clone()]);
        parts.push(table(["STRANDED HOST", "STATE"], rows.collect(), ""));
    }
    if !answer.changes.is_empty() {
        let row = |change: &proto::site::DecisionChange| {
            [change.host.clone(), change.state.clone(), change.before.clone(), change.after.clone(), change.why.clone()]
        };
        let rows = answer.changes.iter().map(row).collect();
        parts.push(table(["HOST", "STATE", "BEFORE", "AFTER", "BECAUSE OF"], rows, ""));
    }
    let (changes, hosts) = (answer.changes.len(), answer.hosts_evaluated);
    let verb = if answer.applied { "are" } else { "would be" };
    let sum = match answer.hash.is_empty() {
        true => "no host was tried".to_owned(),
        false => format!("{changes} of {hosts} hosts {verb} decided otherwise"),
    };
    parts.push(match (answer.applied, answer.refusal.as_str()) {
        (true, _) => format!("{sum}\nactive: {}", answer.hash),
        (false, "") if answer.objection.is_empty() => sum,
        (false, "") => format!("{sum}\nneeds --force: {}", answer.objection),
        (false, refusal) => format!("{sum}\nrefused: {refusal}"),
    });
    parts.join("\n\n")
}

pub(super) async fn history(mut controller: Controller, format: Format) -> Result<String, Failure> {
    let failure = controller.failure();
    let answer = controller.site.list_rule_packs(ListRulePacksRequest {}).await.map_err(failure)?.into_inner();
    format.answer(&answer, |answer: &ListRulePacksResponse| {
        let rows = answer.packs.iter().map(|pack| {
            let now = if pack.in_force { "active" } else { "" };
            [clock(&pack.loaded_at), now.to_owned(), pack.hash.clone()]
        });
        let text = table(["SINCE", "", "HASH"], rows.collect(), "no rules were ever active");
        let refusal = answer.packs.iter().map(|pack| pack.last_refusal.as_str()).find(|refusal| !refusal.is_empty());
        match refusal {
            Some(refusal) => format!("{text}\n\nstale: the last rules that were offered were refused: {refusal}"),
            None => text,
        }
    })
}
