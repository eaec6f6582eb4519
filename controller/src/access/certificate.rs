//! The names in a client certificate that say who its owner is. For this room alone.

use std::{collections::BTreeSet, time::Duration};

use x509_cert::{
    Certificate,
    der::{Decode as _, oid::db::rfc4519},
    ext::pkix::{
        SubjectAltName,
        name::{DirectoryString, GeneralName},
    },
};

/// The names in a certificate that say who its owner is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// URIs among the subject's alternative names.
    pub(super) uris: Vec<String>,
    /// Organisational units of the subject.
    pub(super) units: Vec<String>,
    /// Its number, in hexadecimal without zeros before it.
    pub(super) serial: String,
    /// The certificate, or its alternative names, cannot be read: it may be another's.
    pub(super) unreadable: bool,
    /// When the certificate ends, since the epoch.
    pub(super) end: Option<Duration>,
}

impl Names {
    /// Names in a certificate, DER.
    pub(super) fn of(der: &[u8]) -> Self {
        let Ok(certificate) = Certificate::from_der(der) else {
            return Self { unreadable: true, ..Self::default() };
        };
        let certificate = certificate.tbs_certificate();
        let alternative = certificate.get_extension::<SubjectAltName>();
        let unreadable = alternative.is_err();
        let alternative = alternative.ok().flatten();
        let uri = |name: GeneralName| match name {
            GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str().to_owned()),
            _ => None,
        };
        let units = certificate.subject().iter().filter(|part| part.oid == rfc4519::OU);
        let units = units.filter_map(|part| part.value.decode_as::<DirectoryString>().ok());
        Self {
            uris: alternative.into_iter().flat_map(|(_, names)| names.0).filter_map(uri).collect(),
            units: units.map(|unit| unit.value().into_owned()).collect(),
            serial: hexadecimal(certificate.serial_number().as_bytes()),
            unreadable,
            end: Some(certificate.validity().not_after.to_unix_duration()),
        }
    }

    /// Whether a list of refused serials and names has one of these.
    pub(super) fn any_of(&self, refused: &BTreeSet<String>) -> bool {
        let units = self.units.iter().map(|unit| format!("OU={unit}"));
        refused.contains(&self.serial)
            || self.uris.iter().any(|uri| refused.contains(uri))
            || units.into_iter().any(|unit| refused.contains(&unit))
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        let units = self.units.iter().map(|unit| format!("OU={unit}"));
        let all: Vec<String> = self.uris.iter().cloned().chain(units).collect();
        if all.is_empty() { "neither a URI nor an organisational unit".to_owned() } else { all.join(", ") }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.trim_start_matches('0').to_owned()
}
