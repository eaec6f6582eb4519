//! BIOS settings of a class: what is written, and what has to be in force after the next boot. Pure: tables and what follows
//! from them for the attributes that a BIOS has.

use serde_json::{Map, Value};

use crate::{Class, makers};

/// One attribute of a BIOS.
pub(crate) struct Attribute {
    /// Its name, or with a `*` at the end how its name begins: some BIOSes add a suffix of their own.
    pub(crate) name: &'static str,
    /// What is written; none is only looked at.
    pub(crate) write: Option<&'static str>,
    /// What it may be once it is in force; nothing is not looked at.
    pub(crate) holds: &'static [&'static str],
}

/// Written, and looked at afterwards.
pub(crate) const fn set(name: &'static str, value: &'static str, holds: &'static [&'static str]) -> Attribute {
    Attribute { name, write: Some(value), holds }
}

/// Written, and not looked at: its value says nothing afterwards.
pub(crate) const fn once(name: &'static str, value: &'static str) -> Attribute {
    Attribute { name, write: Some(value), holds: &[] }
}

/// Looked at alone.
pub(crate) const fn look(name: &'static str, holds: &'static [&'static str]) -> Attribute {
    Attribute { name, write: None, holds }
}

impl Attribute {
    fn fits(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            // What follows may only be the BIOS's own suffix.
            Some(beginning) => {
                name.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            }
            None => name == self.name,
        }
    }
}

/// An attribute whose value is not the one that it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub attribute: String,
    /// What it is, as text.
    pub is: String,
    /// What it should be; one of several.
    pub should_be: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, not {}", self.attribute, self.is, self.should_be)
    }
}

fn known<'a>(
    attributes: &'a Map<String, Value>,
    attribute: &'a Attribute,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    attributes.iter().filter(|(name, _)| attribute.fits(name))
}

/// The text of a value, as tables write it.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What to write to a BIOS with these attributes: those of the table that it has, in its own types. `boot_nic` is the id of
/// the function with the boot MAC, which only some BIOSes name.
pub(crate) fn desired(class: Class, attributes: &Map<String, Value>, boot_nic: Option<&str>) -> Map<String, Value> {
    let mut desired = Map::new();
    for attribute in makers::bios(class) {
        let Some(value) = attribute.write else { continue };
        for (name, present) in known(attributes, attribute) {
            let value = spelled(value, present);
            desired.insert(name.clone(), value);
        }
    }
    if let (Class::Dell, Some(nic)) = (class, boot_nic) {
        for name in ["HttpDev1Interface", "SetBootOrderEn"] {
            if attributes.contains_key(name) {
                desired.insert(name.to_owned(), nic.into());
            }
        }
    }
    desired
}

/// A table's value in the type and the spelling that the attribute has now: `Enable` and `Enabled` are one to some BIOSes.
fn spelled(value: &str, present: &Value) -> Value {
    match present {
        Value::Bool(_) => Value::Bool(matches!(value, "true" | "Enabled" | "Enable")),
        Value::Number(_) => value.parse::<i64>().map_or_else(|_| value.into(), Value::from),
        _ => value.into(),
    }
}

/// Attributes in force that are not as they should be; those that the BIOS lacks are passed over.
pub(crate) fn differences(class: Class, attributes: &Map<String, Value>, boot_nic: Option<&str>) -> Vec<Difference> {
    let mut found = Vec::new();
    for attribute in makers::bios(class).iter().filter(|attribute| !attribute.holds.is_empty()) {
        for (name, value) in known(attributes, attribute) {
            let is = text(value);
            if !attribute.holds.contains(&&*is) {
                found.push(Difference { attribute: name.clone(), is, should_be: attribute.holds.join(" or ") });
            }
        }
    }
    if let (Class::Dell, Some(nic), Some(is)) = (class, boot_nic, attributes.get("HttpDev1Interface").map(text))
        && is != nic
    {
        found.push(Difference { attribute: "HttpDev1Interface".into(), is, should_be: nic.to_owned() });
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attributes(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn only_what_a_bios_has_is_written_in_its_own_types() {
        let grace = attributes(json!({ "TPM": "Disabled", "Socket0Pcie6DisableOptionROM": true, "Other": 1 }));
        let expected = json!({ "TPM": "Enabled", "Socket0Pcie6DisableOptionROM": false });
        assert_eq!(Value::Object(desired(Class::Grace, &grace, None)), expected);
        let supermicro = attributes(
            json!({ "IPv4HTTPSupport_009F": "Disabled", "IPv4HTTPSupportX": "Disabled", "QuietBoot_00A0": true }),
        );
        let expected = json!({ "IPv4HTTPSupport_009F": "Enabled", "QuietBoot_00A0": false });
        assert_eq!(Value::Object(desired(Class::Supermicro, &supermicro, None)), expected);
        let dell = attributes(
            json!({ "BootMode": "Bios", "HttpDev1Interface": "NIC.Embedded.1-1-1", "Tpm2Hierarchy": "Enabled" }),
        );
        let expected = json!({ "BootMode": "Uefi", "HttpDev1Interface": "NIC.Slot.5-1", "Tpm2Hierarchy": "Clear" });
        assert_eq!(Value::Object(desired(Class::Dell, &dell, Some("NIC.Slot.5-1"))), expected);
        assert!(desired(Class::Generic, &dell, None).is_empty());
    }

    #[test]
    fn what_differs_is_named_with_what_it_should_be() {
        let dell =
            attributes(json!({ "SerialPortAddress": "Com1", "TpmSecurity": "Off", "HttpDev1Interface": "NIC.A" }));
        let found = differences(Class::Dell, &dell, Some("NIC.B"));
        let words: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["TpmSecurity is Off, not On", "HttpDev1Interface is NIC.A, not NIC.B"]);
        let grace = attributes(json!({ "TPM": "Enabled", "Socket0Pcie6DisableOptionROM": false }));
        assert_eq!(differences(Class::Grace, &grace, None), []);
    }
}
