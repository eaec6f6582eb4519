//! NVIDIA: DGX H100 on AMI's firmware, Grace machines and BlueField DPUs on OpenBMC.

use crate::{
    lockdown::{Part, Place},
    setup::{Attribute, look, once, set},
};

pub(super) const VIKING: &[Attribute] = &[
    set("AcpiSpcrBaudRate", "115200", &["115200"]),
    set("BaudRate0", "115200", &["115200"]),
    set("AcpiSpcrConsoleRedirectionEnable", "true", &["true"]),
    set("ConsoleRedirectionEnable0", "true", &["true"]),
    set("AcpiSpcrFlowControl", "None", &["None"]),
    set("AcpiSpcrPort", "COM0", &["COM0"]),
    once("TpmOperation", "TPM Clear"),
    set("SriovSupport", "Enabled", &["Enabled"]),
    set("SRIOVEnable", "Enabled", &["Enabled"]),
    set("VTdSupport", "Enable", &["Enable"]),
    set("Ipv4Http", "Enabled", &["Enabled"]),
    set("Ipv6Http", "Enabled", &["Enabled"]),
    set("Ipv4Pxe", "Disabled", &["Disabled"]),
    set("Ipv6Pxe", "Disabled", &["Disabled"]),
    set("NvidiaInfiniteboot", "Enable", &["Enable"]),
];

pub(super) const GRACE: &[Attribute] = &[
    set("TPM", "Enabled", &["Enabled"]),
    // Else an endless shell instead of an endless boot.
    set("EmbeddedUefiShell", "Disabled", &["Disabled"]),
    // Else the DPU never shows in the boot list.
    set("Socket0Pcie6DisableOptionROM", "false", &["false"]),
    set("Socket1Pcie6DisableOptionROM", "false", &["false"]),
];

// BMCs before 24.10 spell them with spaces.
pub(super) const BLUEFIELD: &[Attribute] = &[
    set("HostPrivilegeLevel", "Restricted", &["Restricted"]),
    set("Host Privilege Level", "Restricted", &["Restricted"]),
    set("InternalCPUModel", "Embedded", &["Embedded"]),
    set("Internal CPU Model", "Embedded", &["Embedded"]),
    look("NicMode", &["DpuMode"]),
];

pub(super) const LOCKDOWN_VIKING: &[Part] = &[
    Part::new(Place::Bios, "KcsInterfaceDisable", "Deny All", "Allow All"),
    Part::new(Place::Bios, "RedfishEnable", "Disabled", "Enabled"),
];
