//! What a machine boots: once, and in which order. For [`crate::service`].

use serde_json::{Value, json};

use crate::{
    BmcError, Class,
    machine::{Machine, link},
    transport::Resource,
};

/// A way to boot that a machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BootOption {
    reference: String,
    display: String,
    path: String,
}

/// Most boot options that are read: trees of thousands of resources are normal, boot lists are not.
const MOST_OPTIONS: usize = 64;

async fn options(machine: &Machine<'_>, system: &Resource) -> Result<Vec<BootOption>, BmcError> {
    let Some(collection) = link(&system.body["Boot"]["BootOptions"]) else { return Ok(Vec::new()) };
    let mut options = Vec::new();
    for path in machine.call.members(&collection).await?.into_iter().take(MOST_OPTIONS) {
        let option = machine.call.get(&path).await?.body;
        let text = |name: &str| option[name].as_str().unwrap_or_default().to_owned();
        options.push(BootOption {
            reference: text("BootOptionReference"),
            display: format!("{} {}", text("DisplayName"), text("Alias")),
            path: text("UefiDevicePath"),
        });
    }
    Ok(options)
}

/// Whether the option boots over HTTP and IPv4 from the NIC with this MAC.
fn boots_over(class: Class, option: &BootOption, mac: &str) -> bool {
    let (display, path) = (option.display.to_uppercase(), option.path.to_uppercase());
    let colons = mac.to_uppercase();
    let plain = colons.replace(':', "");
    match class {
        // An iDRAC names the device, and the BIOS says which NIC that is.
        Class::Dell => display.starts_with("HTTP DEVICE 1"),
        Class::BlueField => display.starts_with("UEFI HTTPV4") || display.contains("NET-OOB-IPV4-HTTP"),
        _ => {
            let of_nic = [&display, &path].into_iter().any(|text| text.contains(&colons) || text.contains(&plain));
            let http = display.contains("HTTP") || path.contains("URI(");
            let ipv4 = display.contains("IPV4") || display.contains("HTTPV4") || path.contains("IPV4(");
            of_nic && http && ipv4
        }
    }
}

/// Whether the NIC with this MAC is what the machine boots first; none if nothing tells.
pub(crate) async fn is_first(machine: &Machine<'_>, mac: Option<&str>) -> Result<Option<bool>, BmcError> {
    let system = machine.system().await?;
    let options = options(machine, &system).await?;
    if options.is_empty() && machine.class == Class::Generic {
        // It has no order that could be wrong.
        return Ok(Some(true));
    }
    let mac = mac.ok_or_else(|| no_mac(machine))?;
    let Some(first) = first_of(machine.class, &system, &options) else { return Ok(None) };
    let held = match machine.class {
        Class::LenovoXcc => first.display.contains("Network") && lenovo_is_first(machine, &system, mac).await?,
        class => boots_over(class, first, mac),
    };
    Ok(Some(held))
}

fn no_mac(machine: &Machine<'_>) -> BmcError {
    machine.call.unexpected("which NIC is the first one cannot be told: the host has no `mac` in the site file".into())
}

/// The option that is booted first: iDRACs and XCCs list options in their order, others say the order.
fn first_of<'o>(class: Class, system: &Resource, options: &'o [BootOption]) -> Option<&'o BootOption> {
    if matches!(class, Class::Dell | Class::LenovoXcc | Class::Supermicro) {
        return options.first();
    }
    let first = system.body["Boot"]["BootOrder"].get(0)?.as_str()?;
    options.iter().find(|option| option.reference == first)
}

const LENOVO_NETWORK: &str = "Oem/Lenovo/BootSettings/BootOrder.NetworkBootOrder";

fn lenovo_option(option: &str, mac: &str) -> bool {
    let option = option.to_uppercase();
    option.contains("HTTP") && option.contains("IPV4") && option.contains(&mac.to_uppercase())
}

async fn lenovo_is_first(machine: &Machine<'_>, system: &Resource, mac: &str) -> Result<bool, BmcError> {
    let order = machine.call.get(&format!("{}/{LENOVO_NETWORK}", system.path)).await?.body;
    Ok(order["BootOrderNext"].get(0).and_then(Value::as_str).is_some_and(|first| lenovo_option(first, mac)))
}

/// Has the machine boot from the NIC with this MAC first; the job that does it, if it takes one. Nothing is done if it does.
pub(crate) async fn put_first(machine: &Machine<'_>, mac: Option<&str>) -> Result<Option<String>, BmcError> {
    if is_first(machine, mac).await? == Some(true) {
        return Ok(None);
    }
    let mac = mac.ok_or_else(|| no_mac(machine))?;
    let system = machine.system().await?;
    if machine.class == Class::LenovoXcc {
        return lenovo_first(machine, &system, mac).await.map(|()| None);
    }
    let options = options(machine, &system).await?;
    let missing = || machine.call.unexpected(format!("no boot option over HTTP and IPv4 from the NIC {mac} yet"));
    let wanted = options.iter().find(|option| boots_over(machine.class, option, mac)).ok_or_else(missing)?;
    let present = system.body["Boot"]["BootOrder"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let others = present.filter(|reference| **reference != wanted.reference);
    let order: Vec<&str> = match machine.class {
        Class::Dell => vec![&*wanted.reference],
        _ => std::iter::once(&*wanted.reference).chain(others).collect(),
    };
    let path = match machine.class {
        Class::Dell | Class::Hpe | Class::Supermicro => system.path.clone(),
        _ => Machine::settings_path(&system),
    };
    let answer = machine.patch(&path, &json!({ "Boot": { "BootOrder": order } })).await;
    match answer {
        Ok(answer) => Ok(answer.task(&machine.call).map(|task| job_id(&task))),
        Err(BmcError::Refused { status: 400, .. }) if machine.class == Class::Supermicro => {
            fixed_order(machine, &system, mac).await.map(|()| None)
        }
        Err(error) => Err(error),
    }
}

/// Supermicros without a plain order: kinds of devices, and network devices among themselves.
async fn fixed_order(machine: &Machine<'_>, system: &Resource, mac: &str) -> Result<(), BmcError> {
    let path = format!("{}/Oem/Supermicro/FixedBootOrder", system.path);
    let present = machine.call.get(&path).await?.body;
    let first = |name: &str, wanted: &dyn Fn(&str) -> bool| -> Vec<String> {
        let all: Vec<String> =
            present[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let (front, back): (Vec<_>, Vec<_>) = all.into_iter().partition(|entry| wanted(entry));
        front.into_iter().chain(back).collect()
    };
    let plain = mac.to_uppercase().replace(':', "");
    let of_nic = |entry: &str| {
        let entry = entry.to_uppercase();
        entry.contains("HTTP")
            && entry.contains("IPV4")
            && (entry.contains(&mac.to_uppercase()) || entry.contains(&plain))
    };
    let body = json!({
        "FixedBootOrder": first("FixedBootOrder", &|entry| entry.to_uppercase().contains("NETWORK")),
        "UEFINetwork": first("UEFINetwork", &of_nic),
    });
    machine.patch(&path, &body).await.map(drop)
}

async fn lenovo_first(machine: &Machine<'_>, system: &Resource, mac: &str) -> Result<(), BmcError> {
    let path = format!("{}/{LENOVO_NETWORK}", system.path);
    let order = machine.call.get(&path).await?.body;
    let all = |name: &str| -> Vec<String> {
        order[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (front, back): (Vec<_>, Vec<_>) =
        all("BootOrderSupported").into_iter().partition(|option| lenovo_option(option, mac));
    if front.is_empty() {
        return Err(machine.call.unexpected(format!("no boot option over HTTP and IPv4 from the NIC {mac} yet")));
    }
    let next: Vec<String> = front.into_iter().chain(back).collect();
    machine.patch(&path, &json!({ "BootOrderNext": next })).await?;
    let options = options(machine, system).await?;
    let (network, rest): (Vec<_>, Vec<_>) = options.iter().partition(|option| option.display.contains("Network"));
    let order: Vec<&str> = network.into_iter().chain(rest).map(|option| &*option.reference).collect();
    let pending = Machine::settings_path(system);
    machine.patch(&pending, &json!({ "Boot": { "BootOrder": order } })).await.map(drop)
}

/// Makes the next boot, and only that, a UEFI HTTP boot. The mode is said where it is shown; a BMC that refuses it gets the
/// request without.
pub(crate) async fn once_over_http(machine: &Machine<'_>) -> Result<(), BmcError> {
    let system = machine.system().await?;
    let path = match machine.class {
        Class::BlueField | Class::Grace | Class::Viking | Class::Generic => Machine::settings_path(&system),
        _ => system.path.clone(),
    };
    let boot = json!({ "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideEnabled": "Once" });
    let shows_mode = !system.body["Boot"]["BootSourceOverrideMode"].is_null();
    if shows_mode && machine.class != Class::Grace {
        let mut with_mode = boot.clone();
        with_mode["BootSourceOverrideMode"] = "UEFI".into();
        match machine.patch(&path, &json!({ "Boot": with_mode })).await {
            Err(BmcError::Refused { status: 400, .. }) => {}
            done => return done.map(drop),
        }
    }
    machine.patch(&path, &json!({ "Boot": boot })).await.map(drop)
}

/// The id of a job from its path.
pub(crate) fn job_id(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_of_a_nic_is_found_however_a_maker_writes_it() {
        let mac = "9c:63:c0:a1:b2:c3";
        for (class, display, path, found) in [
            (Class::Hpe, "Slot 5 : NVIDIA - HTTP(S) (IPv4) 9C:63:C0:A1:B2:C3", "", true),
            (Class::Ami, "UEFI: HTTP IPv4 Nvidia NIC (9C63C0A1B2C3)", "", true),
            (Class::Grace, "UEFI HTTPv4 (MAC:9C63C0A1B2C3)", "", true),
            (Class::Grace, "entry 7", "PciRoot(0x6)/MAC(9C63C0A1B2C3,0x1)/IPv4(0.0.0.0)/Uri()", true),
            (Class::Grace, "UEFI HTTPv6 (MAC:9C63C0A1B2C3)", "", false),
            (Class::Hpe, "PXE (IPv4) 9C:63:C0:A1:B2:C3", "", false),
            (Class::Hpe, "HTTP(S) (IPv4) 9C:63:C0:A1:B2:FF", "", false),
            (Class::Dell, "HTTP Device 1: NVIDIA Network Adapter", "", true),
            (Class::BlueField, "UEFI HTTPv4 (MAC:AABB)", "", true),
        ] {
            let option = BootOption { reference: "Boot0001".into(), display: display.into(), path: path.into() };
            assert_eq!(boots_over(class, &option, mac), found, "{class:?} {display} {path}");
        }
    }
}
