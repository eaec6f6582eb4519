//! AMI firmware, under any name but NVIDIA's.

use crate::{
    lockdown::{Part, Place},
    setup::{Attribute, look, once, set},
};

pub(super) const BIOS: &[Attribute] = &[
    once("TER001", "Enabled"),
    once("TER010", "Enabled"),
    once("TER06B", "COM1"),
    once("TER0021", "115200"),
    once("TER0020", "115200"),
    once("TER012", "VT100Plus"),
    once("TER011", "VT-UTF8"),
    once("TER05D", "None"),
    once("TCG006", "TPM Clear"),
    set("VMXEN", "Enable", &["Enable"]),
    set("PCIS007", "Enabled", &["Enabled"]),
    set("NWSK000", "Enabled", &["Enabled"]),
    set("NWSK001", "Disabled", &["Disabled"]),
    set("NWSK006", "Enabled", &["Enabled"]),
    set("NWSK002", "Disabled", &["Disabled"]),
    set("NWSK007", "Disabled", &["Disabled"]),
    set("FBO001", "UEFI", &["UEFI"]),
    set("EndlessBoot", "Enabled", &["Enabled"]),
    look("LEM0001", &["3"]),
];

pub(super) const LOCKDOWN: &[Part] = &[
    Part::new(Place::Bios, "KCSACP", "Deny All", "Allow All"),
    Part::new(Place::Bios, "USB000", "Disabled", "Enabled"),
    Part::new(Place::HostInterface("HostInterfaces/Self"), "/InterfaceEnabled", "false", "true"),
];
