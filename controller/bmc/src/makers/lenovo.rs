//! Lenovo XCC, and AMI firmware under Lenovo's name.

use crate::{
    lockdown::{Part, Place},
    setup::{Attribute, once, set},
};

pub(super) const BIOS: &[Attribute] = &[
    set("DevicesandIOPorts_COMPort1", "Enabled", &["Enabled"]),
    set("DevicesandIOPorts_ConsoleRedirection", "Enabled", &["Enabled"]),
    set("DevicesandIOPorts_SPRedirection", "Enabled", &["Enabled"]),
    set("DevicesandIOPorts_SerialPortSharing", "Enabled", &["Enabled"]),
    set("DevicesandIOPorts_COMPortActiveAfterBoot", "Enabled", &["Enabled"]),
    set("DevicesandIOPorts_SerialPortAccessMode", "Shared", &["Shared"]),
    once("TrustedComputingGroup_DeviceOperation", "Clear"),
    set("Processors_IntelVirtualizationTechnology", "Enabled", &["Enabled"]),
    set("Processors_SVMMode", "Enabled", &["Enabled"]),
    set("LegacyBIOS_NonOnboardPXE", "Disabled", &["Disabled"]),
    set("LegacyBIOS_LegacyBIOS", "Disabled", &["Disabled"]),
    set("BootModes_SystemBootMode", "UEFIMode", &["UEFIMode"]),
    set("NetworkStackSettings_IPv4HTTPSupport", "Enabled", &["Enabled"]),
    set("NetworkStackSettings_IPv4PXESupport", "Disabled", &["Disabled"]),
    set("NetworkStackSettings_IPv6PXESupport", "Disabled", &["Disabled"]),
    set("BootModes_InfiniteBootRetry", "Enabled", &["Enabled"]),
    set("BootModes_PreventOSChangesToBootOrder", "Enabled", &["Enabled"]),
];

pub(super) const LOCKDOWN: &[Part] = &[
    Part::new(Place::Manager, "/Oem/Lenovo/KCSEnabled", "false", "true"),
    Part::new(Place::System, "/Oem/Lenovo/FrontPanelUSB/FPMode", "Server", "Shared"),
    Part::new(Place::HostInterface("EthernetInterfaces/ToHost"), "/InterfaceEnabled", "false", "true"),
    Part::new(Place::HostInterface("Oem/Lenovo/Security"), "/Configurator/FWRollback", "Disabled", "Enabled"),
];

pub(super) const LOCKDOWN_AMI: &[Part] = &[
    Part::new(Place::ConfigBmc, "/LockoutHostControl", "Enable", "Disable"),
    Part::new(Place::ConfigBmc, "/LockoutBiosVariableWriteMode", "Enable", "Disable"),
    Part::new(Place::ConfigBmc, "/LockdownBiosSettingsChange", "Enable", "Disable"),
    Part::new(Place::ConfigBmc, "/LockdownBiosUpgradeDowngrade", "Enable", "Disable"),
];
