//! Dell iDRAC.

use crate::{
    lockdown::{Part, Place},
    setup::{Attribute, once, set},
};

pub(super) const BIOS: &[Attribute] = &[
    set("InBandManageabilityInterface", "Disabled", &["Disabled"]),
    set("UefiVariableAccess", "Standard", &["Standard"]),
    set("SerialComm", "OnConRedir", &["OnConRedirAuto", "OnConRedir"]),
    set("SerialPortAddress", "Com1", &["Serial1Com2Serial2Com1", "Com1"]),
    set("FailSafeBaud", "115200", &["115200"]),
    set("ConTermType", "Vt100Vt220", &["Vt100Vt220"]),
    set("RedirAfterBoot", "Enabled", &["Enabled"]),
    set("SriovGlobalEnable", "Enabled", &["Enabled"]),
    set("TpmSecurity", "On", &["On"]),
    // Becomes `Enabled` with the boot that clears it.
    set("Tpm2Hierarchy", "Clear", &["Enabled"]),
    set("Tpm2Algorithm", "SHA256", &["SHA256"]),
    once("BootMode", "Uefi"),
    set("HttpDev1EnDis", "Enabled", &["Enabled"]),
    set("PxeDev1EnDis", "Disabled", &["Disabled"]),
    once("HttpDev1TlsMode", "None"),
];

/// The manager's attributes that are set with the BIOS, at once: each has to hold as well.
pub(crate) const MANAGER: &[(&str, &str)] = &[
    ("WebServer.1.HostHeaderCheck", "Disabled"),
    ("IPMILan.1.Enable", "Enabled"),
    ("OS-BMC.1.AdminState", "Disabled"),
    ("SSH.1.Enable", "Enabled"),
    ("SerialRedirection.1.Enable", "Enabled"),
    ("IPMISOL.1.Enable", "Enabled"),
    ("IPMISOL.1.BaudRate", "115200"),
    ("IPMISOL.1.MinPrivilege", "Administrator"),
];

/// Those of them that are looked at.
pub(crate) const MANAGER_HOLDS: &[&str] = &["WebServer.1.HostHeaderCheck", "IPMILan.1.Enable", "OS-BMC.1.AdminState"];

// The lockdown itself goes last: it refuses all else at once.
pub(super) const LOCKDOWN: &[Part] = &[
    Part::new(Place::DellAttributes, "Racadm.1.Enable", "Disabled", "Enabled"),
    Part::new(Place::DellAttributes, "Lockdown.1.SystemLockdown", "Enabled", "Disabled"),
];
