//! Certificates of a site.

use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// A certificate authority of a site.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate and key for a name, both PEM.
    pub(crate) fn issue(&self, name: &str) -> (String, String) {
        self.issue_until(name, 4000)
    }

    pub(crate) fn issue_until(&self, name: &str, year: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap().serialize_pem();
        let end = rcgen::date_time_ymd(year, 1, 1).unix_timestamp().unsigned_abs();
        (self.sign(name, &key, 0, end), key)
    }

    /// A certificate for a key, PEM, from one moment to another, in seconds since the epoch.
    pub(crate) fn sign(&self, name: &str, key: &str, begin: u64, end: u64) -> String {
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let at = |secs| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(secs);
        (parameters.not_before, parameters.not_after) = (at(begin), at(end));
        parameters.signed_by(&KeyPair::from_pem(key).unwrap(), &self.0).unwrap().pem()
    }

    /// A server with a certificate for `name`, which lets in only whom the authority knows.
    pub(crate) fn server(&self, name: &str) -> ServerTlsConfig {
        let (certificate, key) = self.issue(name);
        ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(self.pem()))
    }
}
