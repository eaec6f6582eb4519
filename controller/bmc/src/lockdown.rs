//! Lockdown: read and set part by part. It is on if all parts are, off if none is, and partly on otherwise.

use serde_json::{Map, Value, json};

use crate::{BmcError, Class, machine::Machine, makers, transport::Resource};

/// State of the lockdown of BMC and BIOS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lockdown {
    /// Fully off.
    Disabled,
    /// Partly on.
    Partial,
    /// Fully on.
    Enabled,
    /// The BMC has none.
    Unsupported,
}

/// Where a part of a lockdown is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// An attribute of the BIOS, which holds from the next boot on.
    Bios,
    /// An attribute of an iDRAC.
    DellAttributes,
    /// A property of the manager, by its JSON pointer.
    Manager,
    /// A property of the system.
    System,
    /// A property of a resource below the manager.
    HostInterface(&'static str),
    /// A property of AMI's `ConfigBMC`, which takes all of them together.
    ConfigBmc,
}

/// One part of a lockdown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    place: Place,
    name: &'static str,
    locked: &'static str,
    unlocked: &'static str,
}

impl Part {
    pub(crate) const fn new(place: Place, name: &'static str, locked: &'static str, unlocked: &'static str) -> Self {
        Self { place, name, locked, unlocked }
    }
}

const CONFIG_BMC: &str = "Oem/ConfigBMC";

/// The resources that parts are properties of, each read once.
struct Resources<'m> {
    machine: &'m Machine<'m>,
    read: Vec<(Place, Resource)>,
}

impl<'m> Resources<'m> {
    async fn of(&mut self, place: Place) -> Result<&Resource, BmcError> {
        if let Some(at) = self.read.iter().position(|(known, _)| *known == place) {
            return Ok(&self.read[at].1);
        }
        let machine = self.machine;
        let resource = match place {
            Place::Bios => machine.bios().await?.ok_or_else(|| machine.call.unsupported("a BIOS"))?,
            Place::DellAttributes => machine.call.get(&dell_attributes(machine).await?).await?,
            Place::Manager => machine.manager().await?,
            Place::System => machine.system().await?,
            Place::HostInterface(below) => below_manager(machine, below).await?,
            Place::ConfigBmc => below_manager(machine, CONFIG_BMC).await?,
        };
        self.read.push((place, resource));
        let (_, resource) = self.read.last().ok_or_else(|| machine.call.unexpected("nothing was read".into()))?;
        Ok(resource)
    }
}

async fn below_manager(machine: &Machine<'_>, below: &str) -> Result<Resource, BmcError> {
    let manager = machine.manager().await?;
    machine.call.get(&format!("{}/{below}", manager.path)).await
}

/// Path of the attributes of an iDRAC.
pub(crate) async fn dell_attributes(machine: &Machine<'_>) -> Result<String, BmcError> {
    let manager = machine.manager().await?;
    let links = manager.body["Links"]["Oem"]["Dell"]["DellAttributes"].as_array().into_iter().flatten();
    let own = links.filter_map(|link| link["@odata.id"].as_str()).find(|path| path.contains("iDRAC.Embedded"));
    Ok(own.map_or_else(|| format!("{}/Oem/Dell/DellAttributes/iDRAC.Embedded.1", manager.path), str::to_owned))
}

fn value<'r>(part: &Part, resource: &'r Resource) -> Option<&'r Value> {
    match part.place {
        Place::Bios | Place::DellAttributes => resource.body["Attributes"].get(part.name),
        _ => resource.body.pointer(part.name),
    }
}

/// In one of the spellings that a value has: booleans, or the table's words.
fn is(value: &Value, word: &str) -> bool {
    match value {
        Value::Bool(on) => on.to_string() == word,
        Value::String(text) if matches!(word, "true" | "false") => {
            let on = matches!(text.as_str(), "Enabled" | "true");
            on.to_string() == word
        }
        Value::String(text) => text == word,
        _ => false,
    }
}

/// The table's word in the type that the property has now.
fn spelled(value: Option<&Value>, word: &str) -> Value {
    match (value, word) {
        (Some(Value::String(_)), "true") => "Enabled".into(),
        (Some(Value::String(_)), "false") => "Disabled".into(),
        (_, "true") => true.into(),
        (_, "false") => false.into(),
        (_, word) => word.into(),
    }
}

/// Reads the lockdown. A part that the machine lacks is left out; one that cannot be read leaves the whole unread.
pub(crate) async fn read(machine: &Machine<'_>) -> Result<Lockdown, BmcError> {
    let parts = makers::lockdown(machine.class);
    let mut resources = Resources { machine, read: Vec::new() };
    let (mut locked, mut unlocked, mut known) = (0, 0, 0);
    for part in parts {
        let resource = match resources.of(part.place).await {
            Ok(resource) => resource,
            Err(BmcError::Refused { status: 404, .. }) if matches!(part.place, Place::HostInterface(_)) => continue,
            Err(error) => return Err(error),
        };
        let Some(value) = value(part, resource) else { continue };
        known += 1;
        locked += usize::from(is(value, part.locked));
        unlocked += usize::from(is(value, part.unlocked));
    }
    Ok(match (parts.len(), known) {
        (0, _) => Lockdown::Unsupported,
        // What has none of the parts cannot be locked.
        (_, 0) => Lockdown::Disabled,
        _ if locked == known => Lockdown::Enabled,
        _ if unlocked == known => Lockdown::Disabled,
        _ => Lockdown::Partial,
    })
}

/// Locks or unlocks, part by part; what locks all others goes last, and is unlocked first.
pub(crate) async fn set(machine: &Machine<'_>, on: bool) -> Result<(), BmcError> {
    let mut parts: Vec<&Part> = makers::lockdown(machine.class).iter().collect();
    if !on {
        parts.reverse();
    }
    let mut resources = Resources { machine, read: Vec::new() };
    let word = |part: &Part| if on { part.locked } else { part.unlocked };
    let mut bios = Map::new();
    let mut config = Map::new();
    for part in parts {
        let resource = match resources.of(part.place).await {
            Ok(resource) => resource,
            Err(BmcError::Refused { status: 404, .. }) if matches!(part.place, Place::HostInterface(_)) => continue,
            Err(error) => return Err(error),
        };
        let present = value(part, resource);
        // What the machine lacks is not set, and what is so already is left alone; but for the BIOS, where the opposite may be
        // on its way.
        let Some(known) = present else { continue };
        if is(known, word(part)) && part.place != Place::Bios {
            continue;
        }
        let wanted = spelled(present, word(part));
        match part.place {
            Place::Bios => drop(bios.insert(part.name.to_owned(), wanted)),
            Place::ConfigBmc => drop(config.insert(part.name.trim_start_matches('/').to_owned(), wanted)),
            Place::DellAttributes => {
                let body = json!({
                    "@Redfish.SettingsApplyTime": { "ApplyTime": "Immediate" },
                    "Attributes": { part.name: wanted },
                });
                let path = resource.path.clone();
                machine.patch(&path, &body).await?;
            }
            Place::Manager | Place::System | Place::HostInterface(_) => {
                let path = resource.path.clone();
                machine.patch(&path, &nested(part.name, wanted)).await?;
            }
        }
    }
    if !bios.is_empty() {
        let path = Machine::settings_path(resources.of(Place::Bios).await?);
        machine.patch(&path, &json!({ "Attributes": bios })).await?;
    }
    if !config.is_empty() {
        let path = resources.of(Place::ConfigBmc).await?.path.clone();
        machine.post(&path, &Value::Object(config)).await?;
    }
    Ok(())
}

/// An object with one value at a JSON pointer.
fn nested(pointer: &str, value: Value) -> Value {
    pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev().fold(value, |inner, name| json!({ name: inner }))
}

/// A class whose other settings are refused while it is locked.
pub(crate) fn refuses_while_locked(class: Class) -> bool {
    matches!(class, Class::Dell | Class::Supermicro)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_set_in_the_type_that_it_has() {
        assert_eq!(spelled(Some(&json!("Enabled")), "false"), json!("Disabled"));
        assert_eq!(spelled(Some(&json!(true)), "false"), json!(false));
        assert_eq!(spelled(None, "Deny All"), json!("Deny All"));
        assert!(is(&json!("Disabled"), "false") && is(&json!(false), "false") && is(&json!("Server"), "Server"));
        assert_eq!(
            nested("/Oem/Lenovo/KCSEnabled", json!(false)),
            json!({ "Oem": { "Lenovo": { "KCSEnabled": false } } })
        );
    }
}
