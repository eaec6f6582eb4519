//! Supermicro. Names of BIOS attributes carry a suffix, and differ in some characters from release to release.

use crate::{
    lockdown::{Part, Place},
    setup::{Attribute, once, set},
};

pub(super) const BIOS: &[Attribute] = &[
    set("QuietBoot*", "false", &["false"]),
    set("SecureBootEnable*", "false", &["false"]),
    set("Re_tryBoot*", "EFI Boot", &["EFI Boot"]),
    set("Re-tryBoot*", "EFI Boot", &["EFI Boot"]),
    set("CSMSupport*", "Disabled", &["Disabled"]),
    set("TXTSupport*", "Enabled", &["Enabled"]),
    set("DeviceSelect*", "TPM 2.0", &["TPM 2.0"]),
    set("IntelVTforDirectedI_O_VT_d*", "Enable", &["Enable"]),
    set("IntelVTforDirectedI/O(VT-d)*", "Enable", &["Enable"]),
    set("IntelVirtualizationTechnology*", "Enable", &["Enable"]),
    set("SR_IOVSupport*", "Enabled", &["Enabled"]),
    set("SR-IOVSupport*", "Enabled", &["Enabled"]),
    set("IPv4HTTPSupport*", "Enabled", &["Enabled"]),
    set("IPv4PXESupport*", "Disabled", &["Disabled"]),
    set("IPv6HTTPSupport*", "Disabled", &["Disabled"]),
    set("IPv6PXESupport*", "Disabled", &["Disabled"]),
    set("SecurityDeviceSupport*", "Enabled", &["Enabled", "Enable"]),
    once("PendingOperation*", "TPM Clear"),
];

// The lockdown itself goes last: it refuses all else.
pub(super) const LOCKDOWN: &[Part] = &[
    Part::new(Place::HostInterface("HostInterfaces/1"), "/InterfaceEnabled", "false", "true"),
    Part::new(Place::HostInterface("Oem/Supermicro/KCSInterface"), "/Privilege", "Callback", "Administrator"),
    Part::new(Place::HostInterface("Oem/Supermicro/SysLockdown"), "/SysLockdownEnabled", "true", "false"),
];
