//! Packs that ask for too much, by mistake or to do harm: refused with the reason, while the site goes on.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use controller::Config;
use proto::site::{
    ApplyRulesRequest, ApplyRulesResponse, HostSummary, ListHostsRequest, RuleFile, site_client::SiteClient,
};
use tonic::transport::Channel;

use crate::support::{Daemon, config_of, start};

/// A pack of one file in which hosts stay in `Ready` after these arms.
fn pack(arms: &str, more: &str) -> String {
    format!(
        "initial(\"Ready\");\nstate(\"Ready\").no_sla(){arms}.wait(\"Nothing to do\");\n\
         state(\"Gone\").terminal().no_sla().wait(\"It is gone\");\n{more}"
    )
}

const SMALL: &str = ".go(\"Gone\").when(|h| h.instance.deletion_requested)";

/// Arms that would go round a thousand times each.
fn slow() -> String {
    let more = "fn slow(h) { let i = 0; while i < 150 { i += 1; } i < 3 }";
    pack(&".go(\"Gone\").when(|h| slow(h))\n".repeat(400), more)
}

/// Functions that call each other so often that no memory holds what comes of it.
fn tower() -> String {
    let calls = |n: usize| vec![format!("f{}(h)", n - 1); 20].join(" && ");
    let functions = (1..8).map(|n| format!("fn f{n}(h) {{ {} }}\n", calls(n))).collect::<String>();
    pack(".go(\"Gone\").when(|h| f7(h))", &format!("fn f0(h) {{ h.instance.present }}\n{functions}"))
}

struct OperatedSite {
    daemon: Daemon,
    client: SiteClient<Channel>,
}

impl OperatedSite {
    /// A site of some hosts with a pack of one file active.
    async fn start(dir: &Path, rules: &str) -> Self {
        let config = Config { rules: Some(dir.join("pack")), rules_changed_share: 1.0, ..config_of(dir, 8, "") };
        fs::create_dir(dir.join("pack")).unwrap();
        fs::write(dir.join("pack/a.rhai"), rules).unwrap();
        let daemon = start(dir, config).await;
        let client = daemon.operators().await;
        Self { daemon, client }
    }

    async fn apply(&self, rules: &str, test: &str) -> ApplyRulesResponse {
        let file = |path: &str, text: &str| RuleFile { path: path.to_owned(), text: text.to_owned() };
        let files = vec![file("a.rhai", rules), file("tests/t.yaml", test)];
        let request = ApplyRulesRequest { files, dry_run: false, force: false };
        self.client.clone().apply_rules(request).await.unwrap().into_inner()
    }

    /// The hosts, which have to be told soon whatever else goes on.
    async fn hosts(&self) -> Vec<HostSummary> {
        let asked = Instant::now();
        let hosts = self.client.clone().list_hosts(ListHostsRequest::default()).await.unwrap().into_inner().hosts;
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        hosts
    }

    async fn stop(self) {
        drop(self.client);
        let stopping = Instant::now();
        self.daemon.stop().await;
        assert!(stopping.elapsed() < Duration::from_secs(5), "{:?}", stopping.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pack_that_asks_for_too_much_is_refused_on_the_side() {
    let dir = tempfile::tempdir().unwrap();
    let site = OperatedSite::start(dir.path(), &pack(SMALL, "")).await;
    let good = "cases: [{ name: a, facts: { state.path: Ready }, expect: { wait: Nothing } }]";
    let many = "dpus: 100000000\nbase: { state.path: Ready }\ncases: [{ name: a, expect: { wait: Nothing } }]";
    let (small, tower, slow) = (pack(SMALL, "// other\n"), tower(), slow());
    let cases = [
        (&small, many, "1 of the pack's own tests fail", "`dpus` is 100000000: a case has 64 DPUs"),
        (&tower, good, "the pack has 1 fault", "more than 10000 parts"),
        (&slow, "cases: []", "the pack has 1 fault", "a guard has no loops"),
    ];
    for (rules, test, refusal, fault) in cases {
        let (answer, hosts) = tokio::join!(site.apply(rules, test), site.hosts());
        assert!(!answer.applied && answer.refusal.contains(refusal), "{answer:?}");
        assert!(answer.faults.join("\n").contains(fault), "{:?}", answer.faults);
        assert_eq!(hosts.len(), 8);
    }
    let answer = site.apply(&small, good).await;
    assert!(answer.applied, "{answer:?}");
    site.stop().await;
}
