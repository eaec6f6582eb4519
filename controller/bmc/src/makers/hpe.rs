//! HPE iLO.

use crate::{
    lockdown::{Part, Place},
    setup::{Attribute, once, set},
};

pub(super) const BIOS: &[Attribute] = &[
    once("EmbeddedSerialPort", "Com2Irq3"),
    once("EmsConsole", "Virtual"),
    once("SerialConsoleBaudRate", "BaudRate115200"),
    once("SerialConsoleEmulation", "Vt100Plus"),
    once("SerialConsolePort", "Virtual"),
    once("UefiSerialDebugLevel", "ErrorsOnly"),
    once("VirtualSerialPort", "Com1Irq4"),
    once("Tpm2Operation", "Clear"),
    once("TpmVisibility", "Visible"),
    set("IntelProcVtd", "Enabled", &["Enabled"]),
    set("ProcAmdIoVt", "Enabled", &["Enabled"]),
    set("ProcVirtualization", "Enabled", &["Enabled"]),
    set("Dhcpv4", "Enabled", &["Enabled"]),
    set("HttpSupport", "Auto", &["Auto"]),
];

// BIOS parts hold from the next boot on.
pub(super) const LOCKDOWN: &[Part] = &[
    Part::new(Place::Bios, "UsbBoot", "Disabled", "Enabled"),
    Part::new(Place::Manager, "/Oem/Hpe/VirtualNICEnabled", "false", "true"),
];
