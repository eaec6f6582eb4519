//! Rule packs over the wire: apply, roll back, list, and the dictionary of facts.

use proto::site;
use rules::fact_dictionary;
use tonic::Status;

use super::{SiteService, answer::from_store};
use crate::{
    rule_packs::{Changed, Proposal, Verdict},
    store::PackFile,
};

/// Files and bytes that a pack may have.
const MOST_FILES: usize = 256;
const MOST_BYTES: usize = 8 << 20;
/// Uses of packs that are listed.
const MOST_USES: u32 = 100;

impl SiteService {
    pub(super) async fn rule_packs(&self) -> Result<site::ListRulePacksResponse, Status> {
        let mut tx = self.store.read().await.map_err(from_store)?;
        let uses = tx.pack_uses(MOST_USES).await.map_err(from_store)?;
        let rules = self.packs.rules().current();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (states, arms, gates) = rules.size();
        let view = |(place, used): (usize, crate::store::PackUse)| {
            let in_force = place == 0 && used.hash == rules.hash();
            let mut pack =
                site::RulePack { loaded_at: used.at.to_string(), hash: used.hash, in_force, ..Default::default() };
            if in_force {
                (pack.states, pack.arms, pack.gates) = (count(states), count(arms), count(gates));
                pack.last_refusal = self.packs.rules().offers().refusal.unwrap_or_default();
            }
            pack
        };
        Ok(site::ListRulePacksResponse { packs: uses.into_iter().enumerate().map(view).collect() })
    }

    pub(super) async fn apply(&self, request: site::ApplyRulesRequest) -> Result<site::ApplyRulesResponse, Status> {
        let bytes: usize = request.files.iter().map(|file| file.path.len() + file.text.len()).sum();
        if request.files.len() > MOST_FILES || bytes > MOST_BYTES {
            let limit = format!("files: more than {MOST_FILES} files or {MOST_BYTES} bytes");
            return Err(Status::invalid_argument(limit));
        }
        let files = request.files.into_iter().map(|file| PackFile { path: file.path, text: file.text }).collect();
        let proposal = Proposal { files, dry_run: request.dry_run, force: request.force };
        Ok(answer(self.packs.apply(proposal).await.map_err(from_store)?))
    }

    pub(super) async fn rollback(
        &self,
        request: site::RollbackRulesRequest,
    ) -> Result<site::ApplyRulesResponse, Status> {
        let files = self.packs.files_of(&request.hash).await.map_err(from_store)?;
        let proposal = Proposal { files, dry_run: request.dry_run, force: request.force };
        Ok(answer(self.packs.apply(proposal).await.map_err(from_store)?))
    }
}

fn answer(verdict: Verdict) -> site::ApplyRulesResponse {
    let change = |changed: Changed| site::DecisionChange {
        host: changed.host,
        state: changed.state,
        before: changed.before,
        after: changed.after,
        why: changed.why,
    };
    let stranded = |(name, state): (String, String)| site::HostSummary { name, state, ..Default::default() };
    site::ApplyRulesResponse {
        applied: verdict.applied,
        hash: verdict.hash,
        hosts_evaluated: verdict.hosts_evaluated,
        changes: verdict.changes.into_iter().map(change).collect(),
        stranded: verdict.stranded.into_iter().map(stranded).collect(),
        faults: verdict.faults,
        refusal: verdict.refusal.unwrap_or_default(),
        objection: verdict.objection.unwrap_or_default(),
    }
}

/// The fact dictionary.
pub(super) fn facts() -> site::ListFactsResponse {
    let fact = |fact: &rules::Fact| site::Fact {
        name: format!("{}.{}", fact.area, fact.name),
        r#type: if fact.optional { format!("{}, may be absent", fact.kind) } else { fact.kind.to_string() },
        meaning: fact.meaning.trim().to_owned(),
        supplied_by: fact.supplier.to_string(),
    };
    site::ListFactsResponse { facts: fact_dictionary().into_iter().map(fact).collect() }
}
