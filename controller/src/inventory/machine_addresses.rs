//! Addresses that no two machines may have. With one MAC address, or one BMC, for two, what is meant for one reaches the
//! other.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use bmc::Url;

use crate::store::{Bmc, NewHost, StoreError, Tx};

/// An address of a machine, in the one form by which two are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum MachineAddress {
    /// Of a port: lower case with colons.
    Mac(String),
    /// Of a BMC: its URL without the scheme and default ports.
    Bmc(String),
}

impl MachineAddress {
    /// None for an empty text.
    pub(crate) fn of_mac(mac: &str) -> Option<Self> {
        (!mac.is_empty()).then(|| Self::Mac(mac.to_owned()))
    }

    /// None for an empty text, or one that is no URL.
    pub(crate) fn of_bmc(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let host = url.host_str()?.trim_end_matches('.');
        let port = url.port().filter(|port| !matches!(port, 80 | 443)).map(|port| format!(":{port}"));
        Some(Self::Bmc(format!("{host}{}{}", port.unwrap_or_default(), url.path().trim_end_matches('/'))))
    }
}

impl fmt::Display for MachineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => write!(f, "MAC address `{mac}`"),
            Self::Bmc(bmc) => write!(f, "BMC address `{bmc}`"),
        }
    }
}

/// Addresses of a machine with the fields that hold them.
pub(crate) fn addresses_of(port: (&'static str, &str), bmc: &Bmc) -> Vec<(&'static str, MachineAddress)> {
    let of = |field, address: Option<MachineAddress>| address.map(|address| (field, address));
    let all = [
        of(port.0, MachineAddress::of_mac(port.1)),
        of("bmc.url", MachineAddress::of_bmc(&bmc.url)),
        of("bmc.mac", MachineAddress::of_mac(&bmc.mac)),
    ];
    all.into_iter().flatten().collect()
}

/// The field of a host's description that holds its own MAC address, and that of a DPU's.
pub(crate) const HOST_MAC: &str = "mac";
pub(crate) const DPU_MAC: &str = "oob_mac";

/// Refuses hosts with an address of a machine that the site knows and that is not among them.
pub(crate) async fn refuse_shared(tx: &mut Tx, hosts: &[NewHost]) -> Result<(), StoreError> {
    let dpus = hosts.iter().flat_map(|host| &host.dpus);
    let described: HashSet<_> = hosts.iter().map(|host| &host.id).chain(dpus.map(|dpu| &dpu.id)).collect();
    let mut owners = HashMap::new();
    for host in tx.hosts().await?.into_iter().filter(|host| !described.contains(&host.id)) {
        for (field, address) in addresses_of((HOST_MAC, &host.mac), &host.bmc) {
            owners.insert(address, format!("{} ({field})", host.name));
        }
    }
    for dpu in tx.dpus().await?.into_iter().filter(|dpu| !described.contains(&dpu.id)) {
        for (field, address) in addresses_of((DPU_MAC, &dpu.oob_mac), &dpu.bmc) {
            owners.insert(address, format!("{} ({field})", dpu.name));
        }
    }
    for host in hosts {
        let own = (&host.name, addresses_of((HOST_MAC, &host.mac), &host.bmc));
        let dpus = host.dpus.iter().map(|dpu| (&dpu.name, addresses_of((DPU_MAC, &dpu.oob_mac), &dpu.bmc)));
        for (machine, addresses) in std::iter::once(own).chain(dpus) {
            for (field, address) in addresses {
                if let Some(owner) = owners.get(&address) {
                    let (address, owner) = (address.to_string(), owner.clone());
                    return Err(StoreError::Shared { address, machine: format!("{machine} ({field})"), owner });
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bmc_has_one_form_however_it_is_written() {
        for (url, form) in [
            ("https://BMC-1.example./", Some("bmc-1.example")),
            ("http://bmc-1.example:80", Some("bmc-1.example")),
            ("https://bmc-1.example:443/", Some("bmc-1.example")),
            ("https://bmc-1.example:8443", Some("bmc-1.example:8443")),
            ("https://[2001:DB8:0::1]", Some("[2001:db8::1]")),
            ("https://192.0.2.1/rack/7/", Some("192.0.2.1/rack/7")),
            ("", None),
        ] {
            assert_eq!(MachineAddress::of_bmc(url), form.map(|form| MachineAddress::Bmc(form.into())), "{url}");
        }
    }
}
