//! Each maker's BMC is set up, put in order, locked and given a password, and what is really set is looked at behind its
//! back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of one test program")]

use bmc::{Access, BmcClient, BmcError, Class, Lockdown, Redfish, RedfishSettings, ResetType, Secret, TaskState};
use serde_json::json;
use testbed::{BMC_PASSWORD, BMC_USER, MakerBmc};

const MAC: Option<&str> = Some("9c:63:c0:a1:b2:c3");

fn client() -> Redfish {
    let settings = RedfishSettings { uefi_password: Some(Secret::new("site-secret")), ..RedfishSettings::default() };
    Redfish::new(&settings).unwrap()
}

async fn maker(name: &str) -> (MakerBmc, Access) {
    let bmc = MakerBmc::start(name).await.unwrap();
    let access =
        Access { url: bmc.url().into(), username: BMC_USER.into(), password: BMC_PASSWORD.into(), ..Access::default() };
    (bmc, access)
}

async fn restart(redfish: &Redfish, access: &Access) {
    redfish.reset(access, ResetType::ForceRestart).await.unwrap();
}

/// Whether all BIOS settings are as they should be, or which are not.
async fn differences(redfish: &Redfish, access: &Access) -> Vec<String> {
    let settings = redfish.settings(access, MAC).await.unwrap();
    assert_eq!(settings.faults, [], "{}", access.url);
    settings.differences.unwrap().iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_bios_is_set_up_by_a_boot_and_not_before() {
    for (name, class, jobs) in [
        ("dell", Class::Dell, true),
        ("hpe", Class::Hpe, false),
        ("lenovo", Class::LenovoXcc, false),
        ("ami", Class::Ami, false),
        ("supermicro", Class::Supermicro, false),
        ("grace", Class::Grace, false),
    ] {
        let ((bmc, access), redfish) = (maker(name).await, client());
        assert_eq!(redfish.system(&access).await.unwrap().class, class);
        assert!(!differences(&redfish, &access).await.is_empty(), "{name}: nothing was to be done");
        let job = redfish.set_up(&access, MAC).await.unwrap();
        assert_eq!(job.is_some(), jobs, "{name}");
        assert!(!differences(&redfish, &access).await.is_empty(), "{name}: what was asked for is not in force yet");
        if let Some(job) = &job {
            assert_eq!(redfish.job(&access, job).await.unwrap().state, TaskState::Scheduled, "{name}");
        }
        restart(&redfish, &access).await;
        assert_eq!(differences(&redfish, &access).await, Vec::<String>::new(), "{name}");
        if let Some(job) = &job {
            assert_eq!(redfish.job(&access, job).await.unwrap().state, TaskState::Completed, "{name}");
        }
        assert_eq!(bmc.boots(), 1, "{name}");
        // What somebody changes back is seen.
        bmc.set_faults(|faults| faults.loses_attributes = true);
    }
}

#[tokio::test]
async fn what_is_written_is_what_the_makers_machines_need() {
    for (name, expected) in [
        (
            "dell",
            json!({ "HttpDev1Interface": "NIC.Slot.5-1", "BootMode": "Uefi", "Tpm2Hierarchy": "Enabled", "SerialPortAddress": "Com1" }),
        ),
        ("hpe", json!({ "HttpSupport": "Auto", "Tpm2Operation": "Clear", "IntelProcVtd": "Enabled" })),
        (
            "lenovo",
            json!({ "BootModes_SystemBootMode": "UEFIMode", "NetworkStackSettings_IPv4PXESupport": "Disabled" }),
        ),
        ("ami", json!({ "TER0021": 115_200, "FBO001": "UEFI", "TCG006": "TPM Clear" })),
        (
            "supermicro",
            json!({ "QuietBoot_0001": false, "IPv4HTTPSupport_009F": "Enabled", "SecurityDeviceSupport_00A3": "Enabled" }),
        ),
        ("grace", json!({ "Socket0Pcie6DisableOptionROM": false, "EmbeddedUefiShell": "Disabled" })),
    ] {
        let ((bmc, access), redfish) = (maker(name).await, client());
        redfish.set_up(&access, MAC).await.unwrap();
        restart(&redfish, &access).await;
        let attributes = bmc.attributes();
        for (attribute, value) in expected.as_object().unwrap() {
            assert_eq!(attributes.get(attribute), Some(value), "{name}: {attribute}");
        }
    }
}

#[tokio::test]
async fn the_boot_order_holds_once_it_is_read_back() {
    for (name, job) in
        [("dell", true), ("hpe", false), ("lenovo", false), ("ami", false), ("supermicro", false), ("grace", false)]
    {
        let ((_bmc, access), redfish) = (maker(name).await, client());
        let is_first = async || redfish.settings(&access, MAC).await.unwrap().boot_order_set;
        // The NIC shows only once the BIOS lets it.
        redfish.set_up(&access, MAC).await.unwrap();
        restart(&redfish, &access).await;
        assert_eq!(is_first().await, Some(false), "{name}");
        let started = redfish.boot_first(&access, MAC).await.unwrap();
        assert_eq!(started.is_some(), job, "{name}");
        restart(&redfish, &access).await;
        assert_eq!(is_first().await, Some(true), "{name}");
        assert_eq!(redfish.boot_first(&access, MAC).await.unwrap(), None, "{name}: nothing is to be done twice");
    }
}

#[tokio::test]
async fn a_nic_that_the_bios_hides_is_missed_by_name() {
    let ((_bmc, access), redfish) = (maker("grace").await, client());
    let error = redfish.boot_first(&access, MAC).await.unwrap_err().to_string();
    assert!(error.contains("9c:63:c0:a1:b2:c3"), "{error}");
}

#[tokio::test]
async fn a_lockdown_is_read_part_by_part() {
    for (name, unlocked) in [
        ("dell", Lockdown::Disabled),
        ("hpe", Lockdown::Disabled),
        ("lenovo", Lockdown::Disabled),
        ("ami", Lockdown::Disabled),
        ("supermicro", Lockdown::Disabled),
        ("grace", Lockdown::Unsupported),
    ] {
        let ((_bmc, access), redfish) = (maker(name).await, client());
        let read = async || redfish.settings(&access, MAC).await.unwrap().lockdown;
        assert_eq!(read().await, Some(unlocked), "{name}");
        redfish.set_lockdown(&access, true).await.unwrap();
        let at_once = read().await;
        restart(&redfish, &access).await;
        let locked = if unlocked == Lockdown::Unsupported { unlocked } else { Lockdown::Enabled };
        assert_eq!(read().await, Some(locked), "{name}");
        if matches!(name, "hpe" | "ami") {
            assert_eq!(at_once, Some(Lockdown::Partial), "{name}: the BIOS's parts need a boot");
        }
        redfish.set_lockdown(&access, false).await.unwrap();
        restart(&redfish, &access).await;
        assert_eq!(read().await, Some(unlocked), "{name}");
    }
}

#[tokio::test]
async fn what_is_locked_takes_no_settings() {
    let ((bmc, access), redfish) = (maker("dell").await, client());
    redfish.set_lockdown(&access, true).await.unwrap();
    let before = bmc.changes().len();
    let error = redfish.set_up(&access, MAC).await.unwrap_err().to_string();
    assert!(error.contains("locked"), "{error}");
    assert_eq!(bmc.changes().len(), before, "it is not even tried");
}

#[tokio::test]
async fn a_uefi_password_is_in_force_after_its_boot() {
    for name in ["hpe", "lenovo", "ami", "supermicro", "grace", "dell"] {
        let ((bmc, access), redfish) = (maker(name).await, client());
        let job = redfish.set_uefi_password(&access).await.unwrap();
        assert_eq!((job.is_some(), bmc.uefi_password().as_str()), (name == "dell", ""), "{name}");
        restart(&redfish, &access).await;
        assert_eq!(bmc.uefi_password(), "site-secret", "{name}");
        // A host that was deleted by force has it still.
        redfish.set_uefi_password(&access).await.unwrap();
        restart(&redfish, &access).await;
        assert_eq!(bmc.uefi_password(), "site-secret", "{name}");
        if name != "dell" {
            redfish.clear_uefi_password(&access).await.unwrap();
            restart(&redfish, &access).await;
            assert_eq!(bmc.uefi_password(), "", "{name}");
        }
    }
    let (_bmc, access) = maker("hpe").await;
    let bare = Redfish::new(&RedfishSettings::default()).unwrap();
    let missing = bare.set_uefi_password(&access).await.unwrap_err();
    assert_eq!(missing, BmcError::NotConfigured { what: "bmc.uefi_password_file" });
}

#[tokio::test]
async fn an_old_etag_is_read_again_once() {
    let ((bmc, access), redfish) = (maker("hpe").await, client());
    bmc.set_faults(|faults| faults.stale_etags = 1);
    redfish.set_up(&access, MAC).await.unwrap();
    bmc.set_faults(|faults| faults.stale_etags = 9);
    let error = redfish.set_up(&access, MAC).await.unwrap_err().to_string();
    assert!(error.contains("412"), "{error}");
}

#[tokio::test]
async fn boot_storage_is_erased_and_made_again() {
    let ((_bmc, access), redfish) = (maker("dell").await, client());
    assert_eq!(redfish.boot_storage(&access).await.unwrap().as_deref(), Some("BOSS.SL.14-1"));
    for job in [redfish.erase_boot_storage(&access).await, redfish.create_boot_volume(&access).await] {
        let job = redfish.job(&access, &job.unwrap()).await.unwrap();
        assert_eq!(job.state, TaskState::Completed);
    }
    let (_bmc, other) = maker("hpe").await;
    assert_eq!(redfish.boot_storage(&other).await.unwrap(), None);
}

#[tokio::test]
async fn ipmi_is_open_when_it_reads_open() {
    for name in ["dell", "hpe", "lenovo", "ami", "grace"] {
        let ((bmc, access), redfish) = (maker(name).await, client());
        redfish.enable_ipmi(&access).await.unwrap();
        let protocol = match name {
            "dell" => "/redfish/v1/Managers/iDRAC.Embedded.1/NetworkProtocol",
            "ami" => "/redfish/v1/Managers/Self/NetworkProtocol",
            "grace" => "/redfish/v1/Managers/BMC_0/NetworkProtocol",
            _ => "/redfish/v1/Managers/1/NetworkProtocol",
        };
        assert_eq!(bmc.property(protocol, "/IPMI/ProtocolEnabled"), Some(json!(true)), "{name}");
    }
}

#[tokio::test]
async fn a_job_that_failed_says_why() {
    let ((bmc, access), redfish) = (maker("dell").await, client());
    bmc.set_faults(|faults| faults.failing_jobs = 1);
    let job = redfish.set_up(&access, MAC).await.unwrap().unwrap();
    restart(&redfish, &access).await;
    let job = redfish.job(&access, &job).await.unwrap();
    assert_eq!((job.state, job.message.as_str()), (TaskState::Exception, "Unable to apply the configuration."));
    assert!(!differences(&redfish, &access).await.is_empty());
    let gone = redfish.job(&access, "JID_999").await.unwrap();
    assert_eq!(gone.state, TaskState::Missing);
}
