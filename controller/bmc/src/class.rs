//! Whose BMC this is: told from the service root, which needs no login, and never from the machine's `Manufacturer`.

use serde_json::Value;

/// BMCs that behave alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Dell iDRAC 9 and 10.
    Dell,
    /// HPE iLO 5 to 7.
    Hpe,
    /// Lenovo XCC.
    LenovoXcc,
    /// AMI firmware under Lenovo's name.
    LenovoAmi,
    /// AMI firmware under its own name.
    Ami,
    /// Supermicro.
    Supermicro,
    /// NVIDIA DGX H100.
    Viking,
    /// NVIDIA GB200, GB300 and GH200, on OpenBMC.
    Grace,
    /// NVIDIA BlueField DPUs.
    BlueField,
    /// None of these: standard Redfish alone.
    Generic,
}

impl Class {
    /// Every class with its name, as a site file can give it.
    pub const ALL: [(&'static str, Self); 10] = [
        ("dell", Self::Dell),
        ("hpe", Self::Hpe),
        ("lenovo", Self::LenovoXcc),
        ("lenovo-ami", Self::LenovoAmi),
        ("ami", Self::Ami),
        ("supermicro", Self::Supermicro),
        ("viking", Self::Viking),
        ("grace", Self::Grace),
        ("bluefield", Self::BlueField),
        ("generic", Self::Generic),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, class)| *class == self).map_or("generic", |(name, _)| name)
    }

    /// The class that a service root shows; `lists_dgx` says whether the systems have a member `DGX`, which AMI's root
    /// does not tell.
    pub(crate) fn of(root: &Value, lists_dgx: bool) -> Self {
        let oem = |name: &str| root["Oem"].get(name).is_some();
        let first_oem = root["Oem"].as_object().and_then(|oem| oem.keys().next()).map(String::as_str);
        let vendor = root["Vendor"].as_str().filter(|vendor| !vendor.is_empty()).or(first_oem).unwrap_or_default();
        let product = root["Product"].as_str().unwrap_or_default();
        match vendor {
            "Dell" => Self::Dell,
            "HPE" | "Hpe" => Self::Hpe,
            "Lenovo" if oem("Ami") => Self::LenovoAmi,
            "Lenovo" => Self::LenovoXcc,
            "AMI" | "Ami" if lists_dgx => Self::Viking,
            "AMI" | "Ami" => Self::Ami,
            "Supermicro" => Self::Supermicro,
            "NVIDIA" | "WIWYNN" => Self::Grace,
            "Nvidia" if product.contains("BlueField") || product.contains("BMCMezz") => Self::BlueField,
            "Nvidia" => Self::BlueField,
            _ if oem("Supermicro") => Self::Supermicro,
            _ => Self::Generic,
        }
    }

    /// Whether the root alone does not tell it from another.
    pub(crate) fn needs_systems(self) -> bool {
        matches!(self, Self::Ami)
    }

    /// The member of `Systems` that is the host, and of `Managers` that is its BMC. None: the only one.
    pub(crate) fn members(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Dell => (Some("System.Embedded.1"), Some("iDRAC.Embedded.1")),
            Self::Hpe | Self::LenovoXcc | Self::Supermicro => (Some("1"), Some("1")),
            Self::LenovoAmi | Self::Ami => (Some("Self"), Some("Self")),
            Self::Viking => (Some("DGX"), Some("BMC")),
            Self::Grace => (Some("System_0"), Some("BMC_0")),
            Self::BlueField => (Some("Bluefield"), Some("Bluefield_BMC")),
            Self::Generic => (None, None),
        }
    }

    /// Its requests that change something have to carry `If-Match: *`; the BMC's own ETag is refused.
    pub(crate) fn wants_any_etag(self) -> bool {
        matches!(self, Self::LenovoAmi | Self::Ami | Self::Viking)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_class_is_told_by_the_service_root() {
        for (root, dgx, class) in [
            (json!({ "Vendor": "Dell" }), false, Class::Dell),
            (json!({ "Vendor": "HPE", "Oem": { "Hpe": {} } }), false, Class::Hpe),
            (json!({ "Vendor": "Lenovo", "Oem": { "Lenovo": {} } }), false, Class::LenovoXcc),
            (json!({ "Vendor": "Lenovo", "Oem": { "Ami": {} } }), false, Class::LenovoAmi),
            (json!({ "Vendor": "AMI" }), false, Class::Ami),
            (json!({ "Vendor": "AMI" }), true, Class::Viking),
            (json!({ "Vendor": "Supermicro" }), false, Class::Supermicro),
            (json!({ "Oem": { "Supermicro": {} } }), false, Class::Supermicro),
            (json!({ "Vendor": "NVIDIA", "Product": "GB200 NVL" }), false, Class::Grace),
            (json!({ "Vendor": "WIWYNN", "Product": "GB BMC" }), false, Class::Grace),
            (json!({ "Vendor": "Nvidia", "Product": "BlueField-3 DPU" }), false, Class::BlueField),
            (json!({ "Vendor": "" }), false, Class::Generic),
            (json!({ "Vendor": "Contoso" }), false, Class::Generic),
            (json!({}), false, Class::Generic),
        ] {
            assert_eq!(Class::of(&root, dgx), class, "{root}");
        }
    }
}
