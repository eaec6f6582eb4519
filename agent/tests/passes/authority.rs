//! Certificates of a site.

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
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A server with a certificate for `name`, which lets in only whom the authority knows.
    pub(crate) fn server(&self, name: &str) -> ServerTlsConfig {
        let (certificate, key) = self.issue(name);
        ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(self.pem()))
    }
}
