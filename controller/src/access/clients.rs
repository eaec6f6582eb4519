//! From the names in a certificate to a [`Caller`], by the patterns of `[access]`. For the gatekeeper and the issuer.

use std::fmt;

use proto::MachineId;

use super::{Caller, certificate::Names};
use crate::Access;

/// What is wrong with one pattern of [`Access`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("access.{list}: `{pattern}` {fault}")]
pub struct AccessFault {
    list: &'static str,
    pattern: String,
    fault: &'static str,
}

const MACHINE_ID: &str = "{machine_id}";

/// Clients by their certificates.
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    /// What stands before and after the machine's id.
    machines: Vec<(String, String)>,
    others: Vec<(Caller, Pattern)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Unit(String),
    Uri(String),
    UriPrefix(String),
}

impl Clients {
    /// Reads the patterns.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub(crate) fn new(access: &Access) -> Result<Self, AccessFault> {
        let mut machines = Vec::new();
        for pattern in &access.machines {
            let fault = |fault| AccessFault { list: "machines", pattern: pattern.clone(), fault };
            let (before, after) =
                pattern.split_once(MACHINE_ID).ok_or_else(|| fault("does not say where {machine_id} stands"))?;
            if !before.contains("://") || after.contains(['{', '*']) {
                return Err(fault("is no URI with one {machine_id}"));
            }
            machines.push((before.to_owned(), after.to_owned()));
        }
        let mut others = Vec::new();
        for (list, patterns, caller) in [
            ("operators", &access.operators, Caller::Operator),
            ("tenants", &access.tenants, Caller::Tenant),
            ("observers", &access.observers, Caller::Observer),
        ] {
            for pattern in patterns {
                let fault = |fault| AccessFault { list, pattern: pattern.clone(), fault };
                others.push((caller.clone(), Pattern::read(pattern).map_err(fault)?));
            }
        }
        Ok(Self { machines, others })
    }

    /// What names a machine in its certificate; none if nothing does.
    pub(super) fn uri(&self, machine: &MachineId) -> Option<String> {
        self.machines.first().map(|(before, after)| format!("{before}{machine}{after}"))
    }

    /// Who has a certificate with these names. A machine's certificate is nothing but that, whatever else it says.
    pub(super) fn caller(&self, names: &Names) -> Result<Caller, UnknownClient> {
        let stranger = || UnknownClient(names.clone());
        if names.unreadable {
            return Err(stranger());
        }
        let id_of = |uri: &String| {
            let parts = self.machines.iter();
            let mut ids =
                parts.filter_map(|(before, after)| uri.strip_prefix(before.as_str())?.strip_suffix(after.as_str()));
            ids.next().map(str::to_owned)
        };
        let mut machines = names.uris.iter().filter_map(id_of);
        if let Some(id) = machines.next() {
            // One that names two machines could speak for either.
            let alone = machines.next().is_none();
            return id.parse().ok().filter(|_| alone).map(Caller::Machine).ok_or_else(stranger);
        }
        let known = self.others.iter().find(|(_, pattern)| pattern.fits(names));
        known.map(|(caller, _)| caller.clone()).ok_or_else(|| UnknownClient(names.clone()))
    }
}

impl Pattern {
    fn read(text: &str) -> Result<Self, &'static str> {
        match (text.strip_prefix("OU="), text.strip_suffix('*').unwrap_or(text)) {
            (Some(""), _) => Err("names no organisational unit"),
            (Some(unit), _) => Ok(Self::Unit(unit.to_owned())),
            (None, uri) if !uri.contains("://") || uri.ends_with("://") => Err("is neither OU=NAME nor a URI"),
            (None, uri) if uri.contains(['*', '{']) => Err("may have `*` only at its end"),
            (None, uri) if uri == text => Ok(Self::Uri(uri.to_owned())),
            (None, uri) => Ok(Self::UriPrefix(uri.to_owned())),
        }
    }

    fn fits(&self, names: &Names) -> bool {
        match self {
            Self::Unit(unit) => names.units.contains(unit),
            Self::Uri(uri) => names.uris.contains(uri),
            Self::UriPrefix(prefix) => names.uris.iter().any(|uri| uri.starts_with(prefix.as_str())),
        }
    }
}

/// A client whose certificate makes it nothing.
#[derive(Debug)]
pub(super) struct UnknownClient(Names);

impl fmt::Display for UnknownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the client's certificate names {}: the controller's [access] gives that no role", self.0.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(uris: &[&str], units: &[&str]) -> Names {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Names { uris: texts(uris), units: texts(units), ..Names::default() }
    }

    #[test]
    fn certificates_make_their_owners_what_the_configuration_says() {
        let access = Access { tenants: vec!["spiffe://forge.local/tenants/*".into()], ..Access::default() };
        let clients = Clients::new(&access).unwrap();
        let id = format!("fm100ds{:0>52}", 7);
        let uri = format!("spiffe://forge.local/forge-system/machine/{id}");
        let machine = Caller::Machine(id.parse().unwrap());
        for (names, caller) in [
            (names(&[&uri], &[]), Some(machine.clone())),
            (names(&["https://elsewhere", &uri], &["operators"]), Some(machine)),
            (names(&[&format!("{uri}x")], &["operators"]), None),
            (names(&[&uri, &uri.replace(&id, &format!("fm100ds{:0>52}", 8))], &[]), None),
            (names(&[&uri, &uri], &[]), None),
            (Names { unreadable: true, ..names(&[&uri], &["operators"]) }, None),
            (names(&["spiffe://forge.local/forge-system/machine/"], &[]), None),
            (names(&[&uri.replace("forge.local", "other.local")], &[]), None),
            (names(&[], &["staff", "operators"]), Some(Caller::Operator)),
            (names(&[], &["Operators"]), None),
            (names(&["spiffe://forge.local/tenants/acme"], &[]), Some(Caller::Tenant)),
            (names(&["spiffe://forge.local/tenantsx"], &["tenants"]), None),
            (names(&[], &["observers"]), Some(Caller::Observer)),
            (names(&[], &[]), None),
        ] {
            assert_eq!(clients.caller(&names).ok(), caller, "{names:?}");
        }
    }

    #[test]
    fn a_client_without_a_role_hears_what_its_certificate_says() {
        let clients = Clients::new(&Access::default()).unwrap();
        let told = |names: &Names| clients.caller(names).unwrap_err().to_string();
        let role = "the controller's [access] gives that no role";
        assert_eq!(
            told(&names(&["spiffe://x/y"], &["guests"])),
            format!("the client's certificate names spiffe://x/y, OU=guests: {role}")
        );
        assert!(told(&names(&[], &[])).contains("names neither a URI nor an organisational unit: "));
    }

    #[test]
    fn patterns_that_make_no_sense_are_refused() {
        for (access, fault) in [
            (
                Access { machines: vec!["spiffe://x/machine/*".into()], ..Access::default() },
                "access.machines: `spiffe://x/machine/*` does not say where {machine_id} stands",
            ),
            (
                Access { machines: vec!["{machine_id}".into()], ..Access::default() },
                "access.machines: `{machine_id}` is no URI with one {machine_id}",
            ),
            (
                Access { operators: vec!["operators".into()], ..Access::default() },
                "access.operators: `operators` is neither OU=NAME nor a URI",
            ),
            (
                Access { tenants: vec!["OU=".into()], ..Access::default() },
                "access.tenants: `OU=` names no organisational unit",
            ),
            (
                Access { observers: vec!["spiffe://*/x".into()], ..Access::default() },
                "access.observers: `spiffe://*/x` may have `*` only at its end",
            ),
        ] {
            assert_eq!(Clients::new(&access).unwrap_err().to_string(), fault);
        }
    }
}
