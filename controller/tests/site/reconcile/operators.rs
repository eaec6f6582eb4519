//! What operators and observers ask and report by name, and what they are refused.

use proto::{
    health,
    site::{self, site_server::Site as _},
};
use tonic::{Code, Request};

use crate::support::{ManagedSite, alert, dpu, eventually, healthy, settings, shipped_pack};

#[tokio::test]
async fn events_facts_and_requests_are_known_by_name_or_refused() {
    let site = ManagedSite::start(1, "Ready").await;
    for (kind, arguments) in [
        ("discovered", vec![]),
        ("discovered", vec![("dpu", "host-1-dpu1")]),
        ("bmc.lockdown", vec![("value", "enabled")]),
        ("dpu.secure_boot", vec![("dpu", "host-1-dpu0"), ("value", "disabled")]),
        ("dhcp_suppressed", vec![("mac", "02:00:00:00:01:01")]),
    ] {
        site.event(kind, &arguments).await.unwrap();
    }
    for (kind, arguments, words) in [
        ("discoverd", vec![], "did you mean `discovered`?"),
        ("bmc.lockdown", vec![], "needs the argument `value`"),
        ("bmc.lockdown", vec![("value", "ajar")], "not `ajar`"),
        ("dpu.secure_boot", vec![("value", "disabled")], "needs the argument `dpu`"),
        ("instance.present", vec![("value", "true")], "cannot be reported"),
        ("bmc.lockdown", vec![("value", "enabled"), ("unit", "x")], "fact `bmc.lockdown` has no argument `unit`"),
        ("cleaned", vec![("failed", "True")], "the argument `failed` to be true or false, not `True`"),
        ("cleaned", vec![("failed", "yes")], "the argument `failed` to be true or false, not `yes`"),
        ("cleaned", vec![("failed", "1")], "the argument `failed` to be true or false, not `1`"),
        ("cleaned", vec![("error", "disk is dead")], "event `cleaned` has no argument `error`; known are failed"),
        ("cleaned", vec![("faild", "true")], "event `cleaned` has no argument `faild`, did you mean `failed`?"),
        ("validated", vec![("failed", "no")], "to be true or false, not `no`"),
        ("validated", vec![("result", "bad")], "event `validated` has no argument `result`"),
        ("rebooted", vec![("failed", "true")], "event `rebooted` has no argument `failed`: it has none"),
        ("dhcp_suppressed", vec![], "needs the argument `mac`"),
    ] {
        let status = site.event(kind, &arguments).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{kind}");
        assert!(status.message().contains(words), "{}", status.message());
    }
    let stored = site.record(1).await.events;
    let kinds: Vec<&str> = stored.values().flatten().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["discovered", "discovered"], "what is refused is not kept");
    for (kind, arguments, words) in [
        (
            "maintenance",
            vec![("operation", "power_on"), ("force", "true")],
            "request `maintenance` has no argument `force`",
        ),
        ("dpu_reprovision", vec![("approved", "yes")], "to be true or false, not `yes`"),
        ("decommission", vec![("approved", "true")], "has no argument `approved`: it has none"),
    ] {
        let status = site.request(kind, &arguments).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{kind}");
        assert!(status.message().contains(words), "{}", status.message());
    }
    let request = |host: &str, kind: &str, withdraw| {
        Request::new(site::HostRequest { host: host.into(), kind: kind.into(), withdraw, ..Default::default() })
    };
    site.operators.request_host(request("host-1", "decommission", false)).await.unwrap();
    assert_eq!(site.record(1).await.requests.len(), 1);
    site.operators.request_host(request("host-1", "decommission", true)).await.unwrap();
    assert_eq!(site.record(1).await.requests, []);
    let status = site.operators.request_host(request("host-1", "decomission", false)).await.unwrap_err();
    assert!(status.message().contains("did you mean `decommission`?"), "{}", status.message());
    let status = site.operators.request_host(request("host-1", "maintenance", false)).await.unwrap_err();
    assert!(status.message().contains("known are power_on, power_off, power_cycle, bmc_reset"), "{}", status.message());
    let status = site.operators.request_host(request("host-9", "decommission", false)).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

#[tokio::test]
async fn hosts_dpus_and_addresses_are_listed_by_name() {
    let site = ManagedSite::start(2, "Ready").await;
    let running = site.reconcile(settings());
    let hosts = site.list_hosts().await;
    let names: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.state.as_str(), host.dpus)).collect();
    assert_eq!(names, [("host-1", "Ready", 2), ("host-2", "Ready", 2)]);
    site.acknowledge(&dpu(1, 0)).await;
    let host = |host: &str| Request::new(site::HostRef { host: host.into() });
    let detail = site.operators.get_host(host("host-1")).await.unwrap().into_inner();
    assert_eq!(detail.summary.unwrap().dpus_ready, 1);
    assert!(detail.use_admin_network && detail.dpus[0].primary && !detail.dpus[0].loopback_ip.is_empty());
    assert!(!serde_json::to_string(&detail.actions).unwrap().contains(testbed::BMC_PASSWORD));
    let addresses = site.list_addresses().await;
    assert!(addresses.iter().any(|held| held.owner == "host-2-dpu1" && held.pool == "loopback"), "{addresses:#?}");
    assert_eq!(site.operators.get_host(host("nobody")).await.unwrap_err().code(), Code::NotFound);

    site.operators.forget_dpu(Request::new(site::ForgetDpuRequest { dpu: "host-2-dpu1".into() })).await.unwrap();
    assert_eq!(site.list_dpus().await.len(), 3);
    running.stop().await;
}

#[tokio::test]
async fn a_forgotten_dpus_addresses_are_free_by_an_operator_alone() {
    let site = ManagedSite::start(1, "Ready").await;
    let vpc = site.create_vpc().await;
    let instance = site.create_instance(1, &vpc).await;
    let forget = || Request::new(site::ForgetDpuRequest { dpu: "host-1-dpu1".into() });
    let held =
        async || site.list_addresses().await.into_iter().map(|held| (held.address, held.owner)).collect::<Vec<_>>();
    let free = async |address: &str| {
        let request = site::ReleaseAddressRequest { address: address.into() };
        site.operators.release_address(Request::new(request)).await.map_err(|status| status.code())
    };

    // Its host carries an instance: the other DPU's word alone must not give the instance's address away.
    let refusal = site.operators.forget_dpu(forget()).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition);
    assert!(refusal.message().contains(&instance.value), "{refusal}");
    site.drop_instance(&instance).await;

    let before = held().await;
    let (loopback, _) = before.iter().find(|(_, owner)| owner == "host-1-dpu1").unwrap();
    assert_eq!(free(loopback).await.unwrap_err(), Code::FailedPrecondition);
    site.operators.forget_dpu(forget()).await.unwrap();
    assert_eq!(held().await.len(), before.len());
    let listed = site.list_addresses().await;
    let forgotten: Vec<_> = listed.iter().filter(|held| !held.forgotten_at.is_empty()).collect();
    assert_eq!(forgotten.len(), 2, "its loopback and its admin address");
    assert!(forgotten.iter().all(|held| held.owner == dpu(1, 1).as_str()), "{forgotten:?}");
    free(loopback).await.unwrap();
    assert_eq!(held().await.len(), before.len() - 1);
    assert_eq!(free(loopback).await.unwrap_err(), Code::NotFound);
    assert_eq!(free("10.0.0").await.unwrap_err(), Code::InvalidArgument);
}

#[tokio::test]
async fn rules_are_tried_before_they_are_active_and_refused_whole() {
    let site = ManagedSite::start(2, "Ready").await;
    let apply = async |files: Vec<site::RuleFile>, dry_run, force| {
        let request = site::ApplyRulesRequest { files, dry_run, force };
        site.operators.apply_rules(Request::new(request)).await.unwrap().into_inner()
    };
    let packs = async || {
        let answer = site.operators.list_rule_packs(Request::new(site::ListRulePacksRequest {})).await.unwrap();
        answer.into_inner().packs
    };
    let shipped = shipped_files();
    let first = packs().await;
    assert!(first.len() == 1 && first[0].in_force && first[0].states > 20, "{first:?}");

    // A misspelt fact: refused with its place, and the active rules stay.
    let mut broken = shipped.clone();
    broken.push(site::RuleFile {
        path: "zz.rhai".into(),
        text: "gate(\"zz\", |h| h.instance.presnt).waits(\"x\");\n".into(),
    });
    let answer = apply(broken, false, false).await;
    assert!(!answer.applied && answer.refusal.contains("fault"), "{answer:?}");
    assert!(
        answer.faults.iter().any(|fault| fault.contains("zz.rhai:1") && fault.contains("present")),
        "{:?}",
        answer.faults
    );
    assert_eq!(packs().await[0].last_refusal, answer.refusal);

    // A comment more: another hash, the same decisions, active.
    let mut commented = shipped.clone();
    commented[0].text.push_str("\n// one more word\n");
    let answer = apply(commented.clone(), true, false).await;
    assert!(!answer.applied && answer.refusal.is_empty() && answer.changes.is_empty(), "{answer:?}");
    assert_eq!(packs().await.len(), 1);
    let answer = apply(commented, false, false).await;
    assert!(answer.applied && answer.hosts_evaluated == 2, "{answer:?}");
    let now = packs().await;
    assert_eq!((now.len(), now[0].hash.as_str(), now[0].in_force), (2, answer.hash.as_str(), true));

    let rollback = site::RollbackRulesRequest { hash: first[0].hash.clone(), ..Default::default() };
    let answer = site.operators.rollback_rules(Request::new(rollback)).await.unwrap().into_inner();
    assert!(answer.applied && answer.hash == first[0].hash, "{answer:?}");

    // Without the state the hosts are in they would be stranded.
    let only = "state(\"Elsewhere\").initial().terminal();\n";
    let lonely = vec![site::RuleFile { path: "a.rhai".into(), text: only.into() }];
    let answer = apply(lonely, false, true).await;
    assert!(!answer.applied, "{answer:?}");
}

pub(super) fn shipped_files() -> Vec<site::RuleFile> {
    let files = controller::read_pack_dir(&shipped_pack()).unwrap();
    files.into_iter().map(|file| site::RuleFile { path: file.path, text: file.text }).collect()
}

#[tokio::test]
async fn misspelt_names_are_refused_but_those_of_dpus_are_counted() {
    let site = ManagedSite::start(1, "Ready").await;
    let running = site.reconcile(settings());
    for (probe, class, words) in [
        (
            "SkuValidation",
            "PreventAllocation",
            "no classification `PreventAllocation`, did you mean `PreventAllocations`?",
        ),
        ("SkuValidaton", "PreventAllocations", "no probe `SkuValidaton`, did you mean `SkuValidation`?"),
    ] {
        let status = site.put_alert(probe, class).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(words), "{}", status.message());
    }
    assert_eq!(site.explain(1).await.undeclared, Vec::<String>::new());
    let mut report = healthy(&dpu(1, 1));
    let alerts = vec![alert("BgpStat", "", &["PreventAllocation"])];
    report.dpu_health = Some(health::HealthReport { alerts, ..Default::default() });
    site.report(report).await.unwrap();
    let names = ["probe BgpStat of host-1-dpu1", "classification PreventAllocation of BgpStat of host-1-dpu1"];
    assert_eq!(site.explain(1).await.undeclared, names);
    let host = Request::new(site::HostRef { host: "host-1".into() });
    let detail = site.operators.get_host(host).await.unwrap().into_inner();
    assert_eq!(detail.undeclared, names);
    assert!(detail.alerts.iter().any(|alert| alert.probe == "BgpStat"), "kept");
    eventually("both names to be counted", async || running.counters.names_undeclared() == 2).await;
    running.stop().await;
}
