//! Operators change the rules of a site that runs, as the README shows it.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use testbed::{SECS, Site, SitePlan, on_site, until};
use tokio::time::sleep;

const GATE: &str = r#"// While the auditors are on a host, no tenant gets it.
probe("Audit");
classification("StopProvisioning");

gate("provisioning_allowed", |h| !h.aggregate_health.has_class("StopProvisioning"))
    .waits("Waiting for the audit to end");
"#;
const TEST: &str = r#"dpus: 1
base: { state.path: Assigned/WaitingForNetworkConfig, instance.present: true }
dpu: { desired_network_version: V5-T50, observed_network_version: V5-T50 }
cases:
  - name: a host under audit is not given to a tenant
    health: { "host:operator": { alerts: [{ id: Audit, message: audit, classifications: [StopProvisioning] }] } }
    expect: { wait: audit, gate: provisioning_allowed }
"#;

/// A copy of the shipped pack that the test may change.
fn copy_of_the_pack(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").arg("-r").args([from, to]).status()?;
    ensure!(copied.success(), "the pack cannot be copied");
    Ok(())
}

#[tokio::test]
async fn an_added_gate_holds_a_host_until_the_rules_are_rolled_back() -> Result<()> {
    on_site(SitePlan::new(1, 1), async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        let pack = site.directory().join("my-rules");
        copy_of_the_pack(&site.plan.rules, &pack)?;
        fs::write(pack.join("audit.rhai"), GATE)?;
        let assigned = fs::read_to_string(pack.join("assigned.rhai"))?;
        let gate = "    .pass(\"other_nics_synced\")";
        let misspelt = assigned.replacen(gate, &format!("    .pass(\"provisioning_allowd\")\n{gate}"), 1);
        fs::write(pack.join("assigned.rhai"), &misspelt)?;
        let (fine, said) = site.sitectl(&format!("rules apply {}", pack.display()))?;
        ensure!(!fine && said.contains("did you mean `provisioning_allowed`?"), "{said}");

        fs::write(pack.join("assigned.rhai"), misspelt.replace("allowd", "allowed"))?;
        fs::write(pack.join("tests/audit.yaml"), TEST)?;
        site.must(&format!("rules test {}", pack.display()))?;
        let said = site.must(&format!("rules apply {}", pack.display()))?;
        ensure!(said.contains("active"), "{said}");

        let alert = "health insert host-1 --probe Audit --classification StopProvisioning --message audit";
        site.must(alert)?;
        site.rent(&host).await?;
        until("the audit to hold the host", SECS, async || {
            let seen = site.explain(&host).await?;
            Ok((seen.gate == "provisioning_allowed" && seen.reason == "Waiting for the audit to end").then_some(()))
        })
        .await?;
        let history = site.must("rules history")?;
        let before = history.lines().last().and_then(|line| line.split(' ').next_back()).context("no history")?;
        let said = site.must(&format!("rules rollback {before} --yes --force"))?;
        ensure!(said.contains("active"), "{said}");
        site.reaches(&host, "Assigned/Ready", SECS).await
    })
    .await
}

/// Waits until the controller has taken or refused a number of packs.
async fn offered(site: &Site, taken: f64, refused: f64) -> Result<()> {
    until("the controller to read its rules", SECS, async || {
        let now = (site.metric("rules_taken_total")?, site.metric("rules_refused_total")?);
        Ok((now == (Some(taken), Some(refused))).then_some(()))
    })
    .await
}

#[tokio::test]
async fn quick_changes_of_rules_are_read_once_and_bad_ones_show() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let pack = dir.path().join("rules");
    let mut plan = SitePlan::new(1, 1);
    copy_of_the_pack(&plan.rules, &pack)?;
    plan.rules.clone_from(&pack);
    on_site(plan, async |site| {
        let first = site.must("rules history")?;
        let file = pack.join("site.rhai");
        let shipped = fs::read_to_string(&file)?;
        for text in ["timeout(\"uefi_boot_wait\", ", "", "// The last of three.\n"] {
            let broken = if text.starts_with("//") { "" } else { "timeout(" };
            fs::write(&file, format!("{text}{shipped}{broken}"))?;
            site.hang_up()?;
            sleep(Duration::from_millis(15)).await;
        }
        offered(site, 1.0, 0.0).await?;
        sleep(Duration::from_secs(1)).await;
        offered(site, 1.0, 0.0).await?;
        let second = site.must("rules history")?;
        ensure!(second.lines().count() == first.lines().count() + 1, "{second}");

        fs::write(&file, shipped.replace("timeout(\"uefi_boot_wait\"", "timeuot(\"uefi_boot_wait\""))?;
        site.hang_up()?;
        offered(site, 1.0, 1.0).await?;
        ensure!(site.metric("rules_stale")? == Some(1.0), "nobody is told that the rules are stale");
        let history = site.must("rules history")?;
        ensure!(history.contains("stale: the last rules that were offered were refused: the pack has"), "{history}");
        ensure!(history.starts_with(second.trim_end()), "other rules are active: {history}");

        fs::write(&file, &shipped)?;
        site.hang_up()?;
        offered(site, 2.0, 1.0).await?;
        ensure!(site.metric("rules_stale")? == Some(0.0), "the rules still count as stale");
        ensure!(!site.must("rules history")?.contains("stale"), "the rules still show as stale");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_pack_without_a_hosts_state_is_refused_and_names_the_host() -> Result<()> {
    on_site(SitePlan::new(2, 1), async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        site.rent(&host).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        let pack = site.directory().join("my-rules");
        copy_of_the_pack(&site.plan.rules, &pack)?;
        for file in fs::read_dir(&pack)?.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            if file.is_file() {
                fs::write(&file, fs::read_to_string(&file)?.replace("\"Assigned/Ready\"", "\"Assigned/Rented\""))?;
            }
        }
        fs::remove_dir_all(pack.join("tests"))?;
        for how in ["--dry-run", "", "--yes --force"] {
            let (fine, said) = site.sitectl(format!("rules apply {} {how}", pack.display()).trim_end())?;
            let named = said.lines().any(|line| line.starts_with("host-1") && line.contains("Assigned/Ready"));
            ensure!(!fine && named, "{how}: {said}");
            ensure!(said.contains("1 host is in a state that the pack lacks"), "{how}: {said}");
        }
        ensure!(site.state(&host).await? == "Assigned/Ready", "the host has moved");
        ensure!(site.metric("rules_stale")? == Some(1.0), "the refusal does not show");
        Ok(())
    })
    .await
}
