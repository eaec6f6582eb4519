//! The controller's Redfish client against a Redfish service that somebody else wrote: OpenStack's emulator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::time::Duration;

use bmc::{Access, BmcClient, BmcError, PowerState, Redfish, RedfishSettings, ResetType};
use testbed::{
    Binaries, SECS, Site, SitePlan, on_prepared,
    real::{Emulator, EmulatorSettings, Part, missing},
    until,
};

const PARTS: &[Part] = &[Part::RedfishEmulator];
/// The emulator takes up to a second for a change of power.
const CHANGED: f64 = 15.0;

fn bmc(emulator: &Emulator, system: u8) -> Access {
    Access {
        url: emulator.url().to_owned(),
        username: Emulator::USER.into(),
        password: Emulator::PASSWORD.into(),
        mac: String::new(),
        system_id: Emulator::system_id(system),
    }
}

fn client() -> Redfish {
    Redfish::new(&RedfishSettings { timeout: Duration::from_secs(10), ..RedfishSettings::default() }).unwrap()
}

async fn becomes(client: &Redfish, bmc: &Access, wanted: PowerState) {
    let power = async || Ok((client.system(bmc).await?.power == Some(wanted)).then_some(()));
    until(&format!("the power state to be {wanted:?}"), CHANGED, power).await.unwrap();
}

fn resets(emulator: &Emulator) -> usize {
    emulator.requests().iter().filter(|request| request.starts_with("POST") && request.ends_with("204")).count()
}

#[tokio::test]
async fn needs_sushy_a_system_is_restarted_and_powered() {
    if missing(PARTS) {
        return;
    }
    let emulator = Emulator::start(EmulatorSettings { systems: 2, ..EmulatorSettings::default() });
    let (client, bmc, other) = (client(), bmc(&emulator, 0), bmc(&emulator, 1));
    assert_eq!(client.system(&bmc).await.unwrap().power, Some(PowerState::On));

    // The emulator shows a restart as off for a moment, then on.
    client.reset(&bmc, ResetType::ForceRestart).await.unwrap();
    assert_eq!(resets(&emulator), 1);
    becomes(&client, &bmc, PowerState::On).await;

    client.reset(&bmc, ResetType::ForceOff).await.unwrap();
    becomes(&client, &bmc, PowerState::Off).await;
    assert_eq!(client.system(&other).await.unwrap().power, Some(PowerState::On), "the other system was not asked");

    // What is off already is not asked again, and a restart of it is a start.
    let before = resets(&emulator);
    client.reset(&bmc, ResetType::ForceOff).await.unwrap();
    assert_eq!(resets(&emulator), before);
    client.reset(&bmc, ResetType::ForceRestart).await.unwrap();
    becomes(&client, &bmc, PowerState::On).await;

    client.reset(&bmc, ResetType::GracefulShutdown).await.unwrap();
    becomes(&client, &bmc, PowerState::Off).await;
    client.reset(&bmc, ResetType::On).await.unwrap();
    becomes(&client, &bmc, PowerState::On).await;

    // The emulator has no power cycle, and half of one is none.
    let refused = client.reset(&bmc, ResetType::PowerCycle).await.unwrap_err();
    assert!(matches!(refused, BmcError::Unsupported { .. }), "{refused}");
    becomes(&client, &bmc, PowerState::On).await;
}

#[tokio::test]
async fn needs_sushy_the_only_system_is_found_without_its_id() {
    if missing(PARTS) {
        return;
    }
    let client = client();
    for (systems, found) in [(1, true), (2, false)] {
        let emulator = Emulator::start(EmulatorSettings { systems, ..EmulatorSettings::default() });
        let bmc = Access { system_id: String::new(), ..bmc(&emulator, 0) };
        match client.system(&bmc).await {
            Ok(system) => assert!(found && system.power == Some(PowerState::On), "{system:?} of {systems}"),
            Err(error) => {
                assert!(!found && matches!(error, BmcError::Unexpected { .. }), "{error}");
                assert!(error.to_string().contains("system_id"), "what to set: {error}");
            }
        }
    }
}

#[tokio::test]
async fn needs_sushy_boot_settings_arrive() {
    if missing(PARTS) {
        return;
    }
    let emulator = Emulator::start(EmulatorSettings { systems: 1, ..EmulatorSettings::default() });
    let (client, bmc) = (client(), bmc(&emulator, 0));
    client.boot_once_uefi_http(&bmc).await.unwrap();
    client.set_secure_boot(&bmc, true).await.unwrap();
    let system = format!("/redfish/v1/Systems/{}", Emulator::system_id(0));
    for patch in [format!("PATCH {system} 204"), format!("PATCH {system}/SecureBoot 204")] {
        assert!(emulator.requests().contains(&patch), "{patch} in {:?}", emulator.requests());
    }
}

#[tokio::test]
async fn needs_sushy_tls_and_password_are_used_a_wrong_one_is_told() {
    if missing(PARTS) {
        return;
    }
    let emulator = Emulator::start(EmulatorSettings { systems: 1, password: true, tls: true });
    assert!(emulator.url().starts_with("https://"), "{}", emulator.url());
    let (client, bmc) = (client(), bmc(&emulator, 0));
    assert_eq!(client.system(&bmc).await.unwrap().power, Some(PowerState::On));

    let wrong = Access { password: "not-the-one".into(), ..bmc };
    let error = client.reset(&wrong, ResetType::ForceRestart).await.unwrap_err();
    assert!(matches!(error, BmcError::Unauthorized { .. }), "{error}");
    assert!(!error.retryable(), "the next try has the same password");
    assert!(!format!("{error} {error:?}").contains("not-the-one"), "a password was told: {error}");
    assert_eq!(resets(&emulator), 0);
}

#[tokio::test]
async fn needs_sushy_a_bmc_that_is_gone_is_worth_another_try() {
    if missing(PARTS) {
        return;
    }
    let emulator = Emulator::start(EmulatorSettings { systems: 1, ..EmulatorSettings::default() });
    let (client, bmc) = (client(), bmc(&emulator, 0));
    client.system(&bmc).await.unwrap();
    drop(emulator);
    let error = client.reset(&bmc, ResetType::ForceRestart).await.unwrap_err();
    assert!(matches!(error, BmcError::Unreachable { .. }) && error.retryable(), "{error}");
}

/// A whole site whose host hangs on the emulator: the rules restart it for its tenant.
#[tokio::test]
async fn needs_sushy_a_host_is_restarted_for_its_tenant() -> anyhow::Result<()> {
    if missing(PARTS) {
        return Ok(());
    }
    let emulator = Emulator::start(EmulatorSettings { systems: 1, ..EmulatorSettings::default() });
    let site = Site::prepare(SitePlan::new(1, 1), Binaries::ready(false)?)?;
    on_prepared(site, async |site| {
        site.start_hosts().await?;
        hang_on(site, "host-1", emulator.url())?;
        site.start_controller().await?;
        site.start_agents()?;
        let host = site.ready_host().await?;
        anyhow::ensure!(resets(&emulator) == 0, "restarted without a reason: {:?}", emulator.requests());
        site.rent(&host).await?;
        site.reaches(&host, "Assigned/Ready", SECS).await?;
        anyhow::ensure!(resets(&emulator) == 1, "one restart is enough: {:?}", emulator.requests());
        Ok(())
    })
    .await
}

/// Gives a host of the site file another BMC.
fn hang_on(site: &Site, host: &str, url: &str) -> anyhow::Result<()> {
    let file = site.directory().join("site.yaml");
    let mut tree: serde_yaml::Value = serde_yaml::from_str(&std::fs::read_to_string(&file)?)?;
    let hosts = tree["hosts"].as_sequence_mut().unwrap();
    let host = hosts.iter_mut().find(|it| it["name"].as_str() == Some(host)).unwrap();
    host["bmc"]["url"] = url.into();
    Ok(std::fs::write(&file, serde_yaml::to_string(&tree)?)?)
}
