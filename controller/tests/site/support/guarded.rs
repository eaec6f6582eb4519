//! A controller that asks its clients for certificates, and who signs those.

use std::{fs, path::Path, time::Duration};

use proto::MachineId;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::{Daemon, config, start};

/// Signs certificates.
pub(crate) struct Signer {
    pub(crate) pem: String,
    pub(crate) issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
}

pub(crate) const ISSUER: &str = "[issuer]\ncert = 'ca.pem'\nkey = 'ca.key'\n";

/// Certificate and key, PEM.
pub(crate) type Pair = (String, String);

impl Signer {
    pub(crate) fn new(name: &str) -> Self {
        Self::until(name, 4000)
    }

    /// One that ends with the beginning of a year.
    pub(crate) fn until(name: &str, year: i32) -> Self {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: rcgen::Issuer::new(params, key) }
    }

    pub(crate) fn sign(&self, params: &rcgen::CertificateParams) -> Pair {
        let key = rcgen::KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    pub(crate) fn server(&self) -> Pair {
        self.sign(&rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap())
    }

    pub(crate) fn machine(&self, id: &MachineId) -> Pair {
        let mut params = rcgen::CertificateParams::default();
        params.subject_alt_names.push(uri(id));
        self.sign(&params)
    }

    /// That of a machine, which ended that many days ago, give or take a minute.
    pub(crate) fn machine_until(&self, id: &MachineId, days_ago: u64) -> Pair {
        self.machine_ending(id, now() - Duration::from_secs(days_ago * 86_400 + 60))
    }

    /// That of a machine, which ends at a moment, given since the epoch.
    pub(crate) fn machine_ending(&self, id: &MachineId, end: Duration) -> Pair {
        let mut params = rcgen::CertificateParams::default();
        params.subject_alt_names.push(uri(id));
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + end;
        self.sign(&params)
    }

    pub(crate) fn unit(&self, unit: &str) -> Pair {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::OrganizationalUnitName, unit);
        self.sign(&params)
    }
}

/// A daemon that asks its clients for certificates.
pub(crate) struct Guarded {
    pub(crate) ca: Signer,
    pub(crate) daemon: Daemon,
    pub(crate) _dir: tempfile::TempDir,
}

pub(crate) fn now() -> Duration {
    std::time::UNIX_EPOCH.elapsed().unwrap()
}

fn uri(id: &MachineId) -> rcgen::SanType {
    rcgen::SanType::URI(format!("spiffe://forge.local/forge-system/machine/{id}").try_into().unwrap())
}

pub(crate) fn write_tls(dir: &Path, ca: &Signer) -> &'static str {
    let (server, key) = ca.server();
    for (file, text) in [
        ("server.pem", &server),
        ("server.key", &key),
        ("ca.pem", &ca.pem),
        ("ca.key", &ca.issuer.key().serialize_pem()),
    ] {
        fs::write(dir.join(file), text).unwrap();
    }
    "[tls]\ncert = 'server.pem'\nkey = 'server.key'\nclient_ca = 'ca.pem'\n"
}

impl Guarded {
    pub(crate) async fn start() -> Self {
        Self::start_with("").await
    }

    /// One whose issuer is the authority that all certificates come from.
    pub(crate) async fn renewing() -> Self {
        Self::start_with(ISSUER).await
    }

    async fn start_with(more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Signer::new("site-ca");
        let tls = write_tls(dir.path(), &ca);
        let daemon = start(dir.path(), config(dir.path(), &format!("{tls}{more}"))).await;
        Self { ca, daemon, _dir: dir }
    }

    pub(crate) fn channel(&self, pair: Option<&Pair>) -> Channel {
        let ca = Certificate::from_pem(&self.ca.pem);
        let mut tls = ClientTlsConfig::new().ca_certificate(ca).domain_name("localhost");
        if let Some((cert, key)) = pair {
            tls = tls.identity(Identity::from_pem(cert, key));
        }
        let url = format!("https://{}", self.daemon.address);
        Endpoint::from_shared(url).unwrap().tls_config(tls).unwrap().connect_lazy()
    }
}
