//! Operators change the rules of a site that runs, as the README shows it.

use std::{fs, process::Command};

use anyhow::{Context as _, Result, ensure};
use tests::{Site, SitePlan, on_site, until};

const SECS: f64 = 40.0;
const GATE: &str = r#"// While the auditors are on a host, no tenant gets it.
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

/// What `sitectl` prints, and whether it was content.
fn sitectl(site: &Site, line: &str) -> Result<(bool, String)> {
    let output = Command::new(site.programs().join("sitectl"))
        .args(line.split(' '))
        .env("SITECTL_CONTROLLER", site.url())
        .output()
        .context("run sitectl")?;
    let text = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    Ok((output.status.success(), text))
}

#[tokio::test]
async fn a_gate_that_is_added_holds_a_host_until_the_rules_are_rolled_back() -> Result<()> {
    on_site(SitePlan::new(1, 1)?, async |site| {
        let host = site.host(0)?;
        site.dpus_ready(&host, SECS).await?;
        let pack = site.directory().join("my-rules");
        let copied = Command::new("cp").arg("-r").args([&site.plan.rules, &pack]).status()?;
        ensure!(copied.success(), "the pack cannot be copied");
        fs::write(pack.join("audit.rhai"), GATE)?;
        let assigned = fs::read_to_string(pack.join("assigned.rhai"))?;
        let gate = "    .pass(\"other_nics_synced\")";
        let misspelt = assigned.replacen(gate, &format!("    .pass(\"provisioning_allowd\")\n{gate}"), 1);
        fs::write(pack.join("assigned.rhai"), &misspelt)?;
        let (fine, said) = sitectl(site, &format!("rules apply {}", pack.display()))?;
        ensure!(!fine && said.contains("did you mean `provisioning_allowed`?"), "{said}");

        fs::write(pack.join("assigned.rhai"), misspelt.replace("allowd", "allowed"))?;
        fs::write(pack.join("tests/audit.yaml"), TEST)?;
        let (fine, said) = sitectl(site, &format!("rules test {}", pack.display()))?;
        ensure!(fine, "{said}");
        let (fine, said) = sitectl(site, &format!("rules apply {}", pack.display()))?;
        ensure!(fine && said.contains("in force"), "{said}");

        let alert = "health insert host-1 --probe Audit --classification StopProvisioning --message audit";
        ensure!(sitectl(site, alert)?.0);
        let vpc = site.create_vpc("blue", &["10.20.0.0/24"]).await?;
        site.create_instance(&host, "web", &[&vpc.prefixes[0].id]).await?;
        until("the audit to hold the host", SECS, async || {
            let seen = site.explain(&host).await?;
            Ok((seen.gate == "provisioning_allowed" && seen.reason == "Waiting for the audit to end").then_some(()))
        })
        .await?;
        let (_, history) = sitectl(site, "rules history")?;
        let before = history.lines().last().and_then(|line| line.split(' ').next_back()).context("no history")?;
        let (fine, said) = sitectl(site, &format!("rules rollback {before} --yes --force"))?;
        ensure!(fine && said.contains("in force"), "{said}");
        site.reaches(&host, "Assigned/Ready", SECS).await
    })
    .await
}
