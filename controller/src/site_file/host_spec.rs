//! Descriptions of hosts, from the site file or an operator, checked as a whole.

use std::{collections::HashMap, fmt};

use proto::{MachineId, MachineKind, common, site};
use rules::StatePath;

use crate::{
    inventory::machine_addresses::{DPU_MAC, HOST_MAC, MachineAddress, addresses_of},
    store::{Bmc, NewDpu, NewHost},
};

/// What is wrong with one field of a host's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFault {
    /// Field, e.g. `hosts[2].dpus[0].machine_id`.
    pub field: String,
    /// What is wrong with it.
    pub fault: String,
    /// Field of another machine that holds the same address.
    pub other: Option<String>,
}

impl fmt::Display for SpecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.fault)?;
        self.other.as_ref().map_or(Ok(()), |other| write!(f, " is that of {other}, too"))
    }
}

/// DPUs that a host can have.
const MOST_DPUS: usize = 16;

/// Reads host descriptions as a whole: ids and names must be well formed and unique among them. A host that names no
/// state starts in `initial`.
///
/// # Errors
/// All faults.
pub fn check_hosts(specs: &[site::HostSpec], initial: &StatePath) -> Result<Vec<NewHost>, Vec<SpecFault>> {
    let mut check = Check::default();
    let mut hosts = Vec::with_capacity(specs.len());
    for (place, spec) in specs.iter().enumerate() {
        let at = format!("hosts[{place}]");
        let name = check.name(&at, &spec.name);
        let id = check.machine_id(&at, spec.machine_id.as_ref(), MachineKind::Host);
        let mac = check.mac(&format!("{at}.mac"), &spec.mac);
        let bmc = check.bmc(&format!("{at}.bmc"), spec.bmc.as_ref());
        check.addresses(&at, (HOST_MAC, &mac), &bmc);
        if spec.dpus.len() > MOST_DPUS {
            check.fault(format!("{at}.dpus"), format!("{} DPUs are more than a host can have", spec.dpus.len()));
        }
        let mut dpus = Vec::with_capacity(spec.dpus.len());
        for (place, dpu) in spec.dpus.iter().enumerate() {
            let at = format!("{at}.dpus[{place}]");
            let default = format!("{}-dpu{place}", spec.name);
            let name = check.name(&at, if dpu.name.is_empty() { &default } else { &dpu.name });
            let id = check.machine_id(&at, dpu.machine_id.as_ref(), MachineKind::Dpu);
            let bmc = check.bmc(&format!("{at}.bmc"), dpu.bmc.as_ref());
            let oob_mac = check.mac(&format!("{at}.oob_mac"), &dpu.oob_mac);
            check.addresses(&at, (DPU_MAC, &oob_mac), &bmc);
            if let Some(id) = id {
                dpus.push(NewDpu { id, name, bmc, oob_mac });
            }
        }
        let state =
            if spec.initial_state.is_empty() { initial.clone() } else { StatePath::from(spec.initial_state.as_str()) };
        if let Some(id) = id {
            hosts.push(NewHost { id, name, mac, bmc, dpus, state });
        }
    }
    if check.faults.is_empty() { Ok(hosts) } else { Err(check.faults) }
}

#[derive(Default)]
struct Check {
    faults: Vec<SpecFault>,
    /// Names and ids with the field that has them.
    seen: HashMap<String, String>,
    /// Addresses with the machine and the field that has them.
    addresses: HashMap<MachineAddress, (String, String)>,
}

impl Check {
    fn fault(&mut self, field: String, fault: impl Into<String>) {
        self.faults.push(SpecFault { field, fault: fault.into(), other: None });
    }

    fn unique(&mut self, field: String, value: &str) {
        match self.seen.get(value) {
            Some(first) => {
                let fault = format!("`{value}` is used by {first}, too");
                self.fault(field, fault);
            }
            None => {
                self.seen.insert(value.to_owned(), field);
            }
        }
    }

    /// Addresses of the machine that is described at `at`, which may use one for its port and its BMC.
    fn addresses(&mut self, at: &str, port: (&'static str, &str), bmc: &Bmc) {
        for (field, address) in addresses_of(port, bmc) {
            let (owner, field) = (at.to_owned(), format!("{at}.{field}"));
            match self.addresses.get(&address) {
                Some((first, other)) if *first != owner => {
                    let (fault, other) = (address.to_string(), Some(other.clone()));
                    self.faults.push(SpecFault { field, fault, other });
                }
                Some(_) => {}
                None => drop(self.addresses.insert(address, (owner, field))),
            }
        }
    }

    fn name(&mut self, at: &str, name: &str) -> String {
        let field = format!("{at}.name");
        let letters = name.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if name.is_empty() {
            self.fault(field, "is missing");
        } else if name.len() > 63 || !letters || name.starts_with('-') || name.ends_with('-') {
            let fault = format!(
                "`{}` is no DNS label: 1 to 63 of a-z, 0-9 and - (not first or last)",
                name.chars().take(80).collect::<String>().escape_default()
            );
            self.fault(field, fault);
        } else if name.parse::<MachineId>().is_ok() {
            self.fault(field, format!("`{name}` is a machine id, which would stand for another machine"));
        } else {
            self.unique(field, name);
        }
        name.to_owned()
    }

    fn machine_id(&mut self, at: &str, id: Option<&common::MachineId>, kind: MachineKind) -> Option<MachineId> {
        let field = format!("{at}.machine_id");
        let Some(id) = id.filter(|id| !id.id.is_empty()) else {
            self.fault(field, "is missing");
            return None;
        };
        match MachineId::try_from(id) {
            Ok(id) if id.kind() == kind => {
                self.unique(field, id.as_str());
                Some(id)
            }
            Ok(id) => {
                let wanted =
                    if kind == MachineKind::Dpu { "a DPU (sixth letter d)" } else { "a host (sixth letter h)" };
                self.fault(field, format!("`{id}` does not name {wanted}"));
                None
            }
            Err(error) => {
                self.fault(field, error.to_string());
                None
            }
        }
    }

    /// Lower-case text with colons; empty if not given.
    fn mac(&mut self, field: &str, text: &str) -> String {
        let mac = text.to_ascii_lowercase().replace('-', ":");
        let parts: Vec<&str> = mac.split(':').collect();
        let hex = |part: &&str| part.len() == 2 && part.bytes().all(|letter| letter.is_ascii_hexdigit());
        if !text.is_empty() && (parts.len() != 6 || !parts.iter().all(hex)) {
            self.fault(field.to_owned(), format!("`{}` is no MAC address", text.escape_default()));
        }
        mac
    }

    fn bmc(&mut self, at: &str, bmc: Option<&site::BmcSpec>) -> Bmc {
        let Some(bmc) = bmc else { return Bmc::default() };
        if !bmc.url.is_empty() && !bmc.url.starts_with("https://") && !bmc.url.starts_with("http://") {
            // The URL may carry a password where it should not.
            self.fault(format!("{at}.url"), "must start with https:// or http://");
        }
        if bmc.url.contains('@') {
            self.fault(format!("{at}.url"), "must not carry a user: give username and password");
        }
        Bmc {
            url: bmc.url.trim_end_matches('/').to_owned(),
            username: bmc.username.clone(),
            password: bmc.password.clone(),
            mac: self.mac(&format!("{at}.mac"), &bmc.mac),
            system_id: bmc.system_id.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: char, n: u32) -> Option<common::MachineId> {
        Some(common::MachineId { id: format!("fm100{letter}s{n:0>52}") })
    }

    fn host(name: &str, n: u32) -> site::HostSpec {
        site::HostSpec {
            name: name.into(),
            machine_id: id('h', n),
            dpus: vec![site::DpuSpec { machine_id: id('d', n), ..Default::default() }],
            ..Default::default()
        }
    }

    #[test]
    fn a_host_starts_where_it_says_or_where_the_rules_say() {
        let taken_over = site::HostSpec { initial_state: "Ready".into(), ..host("b", 2) };
        let hosts = check_hosts(&[host("a", 1), taken_over], &StatePath::from("Created")).unwrap();
        assert_eq!((hosts[0].state.as_str(), hosts[1].state.as_str()), ("Created", "Ready"));
        assert_eq!(hosts[0].dpus[0].name, "a-dpu0");
    }

    #[test]
    fn every_fault_is_named_with_its_field() {
        let mut twin = host("a", 1);
        twin.mac = "aa:bb".into();
        twin.bmc = Some(site::BmcSpec { url: "ftp://root:secret@192.0.2.1".into(), ..Default::default() });
        let nameless = site::HostSpec { machine_id: id('d', 9), ..Default::default() };
        let bad_name = host("Rack 7/Ü", 4);
        let mut posing = host(&id('h', 6).unwrap().id, 5);
        posing.dpus[0].name = "b-dpu0".into();
        let faults = check_hosts(&[host("a", 1), twin, nameless, bad_name, posing], &StatePath::from("X")).unwrap_err();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let host_id = format!("fm100hs{:0>52}", 1);
        assert_eq!(
            faults,
            [
                "hosts[1].name: `a` is used by hosts[0].name, too".to_owned(),
                format!("hosts[1].machine_id: `{host_id}` is used by hosts[0].machine_id, too"),
                "hosts[1].mac: `aa:bb` is no MAC address".to_owned(),
                "hosts[1].bmc.url: must start with https:// or http://".to_owned(),
                "hosts[1].bmc.url: must not carry a user: give username and password".to_owned(),
                "hosts[1].dpus[0].name: `a-dpu0` is used by hosts[0].dpus[0].name, too".to_owned(),
                format!("hosts[1].dpus[0].machine_id: `fm100ds{:0>52}` is used by hosts[0].dpus[0].machine_id, too", 1),
                "hosts[2].name: is missing".to_owned(),
                format!("hosts[2].machine_id: `fm100ds{:0>52}` does not name a host (sixth letter h)", 9),
                "hosts[3].name: `Rack 7/\\u{dc}` is no DNS label: 1 to 63 of a-z, 0-9 and - (not first or last)"
                    .to_owned(),
                "hosts[3].dpus[0].name: `Rack 7/\\u{dc}-dpu0` is no DNS label: 1 to 63 of a-z, 0-9 and - (not first \
                 or last)"
                    .to_owned(),
                format!("hosts[4].name: `fm100hs{:0>52}` is a machine id, which would stand for another machine", 6),
            ]
        );
    }
}
