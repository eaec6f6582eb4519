//! Signs new certificates for machines that show who they are, for the same key. Called by `api/forge/renew` alone.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use proto::MachineId;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
    SubjectPublicKeyInfo,
};
use rustls::{
    RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime, pem::PemObject as _},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use x509_cert::{
    Certificate,
    der::{Decode as _, Encode as _, EncodePem as _, Reader as _, SliceReader, asn1::UintRef, pem::LineEnding},
};

use super::{Caller, Clients, certificate::Names};
use crate::{IssuerFiles, Timestamp};

/// Certificates that a machine may have within ten minutes.
const MOST_RENEWALS: usize = 8;
const RATE: Duration = Duration::from_secs(600);

/// Bits that an RSA key has at least.
const MOST_WEAK: usize = 2048;

const DAY: Duration = Duration::from_secs(86_400);

/// Clocks of the site may differ by this.
const SKEW: Duration = Duration::from_secs(300);

/// Why there is nothing to renew certificates with.
#[derive(Debug, thiserror::Error)]
pub enum IssuerFault {
    /// A file cannot be read.
    #[error("[issuer]: cannot use {path}: {fault}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: String,
    },
    /// What is issued would not be let in.
    #[error("[issuer]: certificates signed with {cert} are not let in: {fault}")]
    Untrusted {
        /// The authority's certificate.
        cert: PathBuf,
        /// Why.
        fault: String,
    },
    /// No certificate can name a machine.
    #[error("[issuer] needs a pattern in access.machines: without it no certificate names a machine")]
    NoPattern,
    /// The authority's own certificate has expired.
    #[error("[issuer]: the authority's certificate {cert} has expired")]
    Over {
        /// The authority's certificate.
        cert: PathBuf,
    },
    /// Certificates would be over at once.
    #[error("issuer.valid_days: 0 days are none")]
    NoTime,
}

/// Why a certificate is not renewed. What it says is for whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RenewalRefusal {
    #[error("what was sent is no certificate: {0}")]
    Unreadable(String),
    #[error("the certificate is none of this site's machines': {0}")]
    Strange(String),
    #[error("the certificate ended more than {0} days ago: it can only be replaced by hand")]
    TooLate(u16),
    #[error("its key is too weak: RSA of {0} bits, at least {MOST_WEAK} are needed")]
    WeakKey(usize),
    #[error("{0} certificates were made for this machine within ten minutes: wait a while")]
    TooOften(usize),
    #[error("no certificate can be made: {0}")]
    Signing(String),
}

/// A certificate for a machine, PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    /// None if the machine keeps its key.
    pub(crate) private_key: Option<String>,
    pub(crate) issuing_ca: String,
}

/// Signs certificates of machines.
pub(crate) struct Issuer {
    authority: rcgen::Issuer<'static, KeyPair>,
    /// The authority's certificates and nothing else that is in their file.
    pem: String,
    chain: Vec<CertificateDer<'static>>,
    /// When the authority's certificate ends, since the epoch.
    end: Duration,
    verifier: Arc<dyn ClientCertVerifier>,
    clients: Clients,
    valid: Duration,
    late_days: u16,
    /// When each machine was lately given one.
    given: Mutex<HashMap<MachineId, Vec<Timestamp>>>,
}

impl Issuer {
    /// Reads an authority's files and tries it out.
    ///
    /// # Errors
    /// If they cannot be read, or `client_ca` would not trust what is signed.
    pub(crate) fn open(files: &IssuerFiles, client_ca: &Path, clients: Clients) -> Result<Self, IssuerFault> {
        if files.valid_days == 0 {
            return Err(IssuerFault::NoTime);
        }
        let (pem, key) = (read(&files.cert)?, read(&files.key)?);
        let key = KeyPair::from_pem(&key).map_err(wrong(&files.key))?;
        // Whatever else is in the file is not for others: some keep the key there, too.
        let chain = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(wrong(&files.cert))?;
        let own = chain.first().ok_or_else(|| wrong(&files.cert)("it holds no certificate"))?;
        let authority = rcgen::Issuer::from_ca_cert_der(own, key).map_err(wrong(&files.cert))?;
        let certificates = chain.iter().map(|one| Certificate::from_der(one)).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(wrong(&files.cert))?;
        let end = certificates.iter().map(|one| one.tbs_certificate().validity().not_after.to_unix_duration()).min();
        let pem = certificates.iter().map(|one| one.to_pem(LineEnding::LF)).collect::<Result<_, _>>();
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(read(client_ca)?.as_bytes()) {
            roots.add(root.map_err(wrong(client_ca))?).map_err(wrong(client_ca))?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let issuer = Self {
            authority,
            pem: pem.map_err(wrong(&files.cert))?,
            chain,
            end: end.unwrap_or_default(),
            verifier: verifier.map_err(wrong(client_ca))?,
            clients,
            valid: DAY * u32::from(files.valid_days),
            late_days: files.late_days,
            given: Mutex::default(),
        };
        issuer.try_out(&files.cert)?;
        Ok(issuer)
    }

    /// A certificate with a new key, for a machine that has shown who it is.
    pub(crate) fn with_new_key(&self, machine: &MachineId, now: Timestamp) -> Result<Issued, RenewalRefusal> {
        let key = KeyPair::generate().map_err(signing)?;
        let certificate = self.sign(machine, &key, now)?;
        Ok(Issued { certificate, private_key: Some(key.serialize_pem()), issuing_ca: self.pem.clone() })
    }

    /// A certificate in place of a `former` one, DER, which may be over, and the machine that it is for.
    ///
    /// Whoever asks has not shown to have the key. So it is for the same key: nobody else can use it.
    pub(crate) fn with_same_key(&self, former: &[u8], now: Timestamp) -> Result<(MachineId, Issued), RenewalRefusal> {
        let unreadable = |fault: &dyn fmt::Display| RenewalRefusal::Unreadable(fault.to_string());
        let read = Certificate::from_der(former).map_err(|fault| unreadable(&fault))?;
        let certificate = read.tbs_certificate();
        let end = certificate.validity().not_after.to_unix_duration();
        let now_since = now.since_epoch();
        if now_since > end + DAY * u32::from(self.late_days) {
            return Err(RenewalRefusal::TooLate(self.late_days));
        }
        let machine = self.owner(&CertificateDer::from(former), now_since.min(end))?;
        if let Some(bits) = rsa_bits(certificate.subject_public_key_info()).filter(|bits| *bits < MOST_WEAK) {
            return Err(RenewalRefusal::WeakKey(bits));
        }
        let key = certificate.subject_public_key_info().to_der().map_err(|fault| unreadable(&fault))?;
        let key = SubjectPublicKeyInfo::from_der(&key).map_err(|fault| unreadable(&fault))?;
        let certificate = self.sign(&machine, &key, now)?;
        Ok((machine, Issued { certificate, private_key: None, issuing_ca: self.pem.clone() }))
    }

    /// Notes that a machine is given a certificate, unless it was given many lately.
    pub(crate) fn rated(&self, machine: &MachineId, now: Timestamp) -> Result<(), RenewalRefusal> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.retain(|_, times| {
            times.retain(|at| now.since(*at) < RATE);
            !times.is_empty()
        });
        let times = given.entry(machine.clone()).or_default();
        if times.len() >= MOST_RENEWALS {
            return Err(RenewalRefusal::TooOften(times.len()));
        }
        times.push(now);
        Ok(())
    }

    /// The machine whose certificate this was at a moment, by the same rules as for those who connect.
    fn owner(&self, certificate: &CertificateDer<'_>, at: Duration) -> Result<MachineId, RenewalRefusal> {
        let strange = |fault: &dyn fmt::Display| RenewalRefusal::Strange(fault.to_string());
        self.verifier
            .verify_client_cert(certificate, &self.chain, UnixTime::since_unix_epoch(at))
            .map_err(|fault| strange(&fault))?;
        match self.clients.caller(&Names::of(certificate)) {
            Ok(Caller::Machine(machine)) => Ok(machine),
            Ok(other) => Err(strange(&format_args!("it is that of {other}"))),
            Err(stranger) => Err(strange(&stranger)),
        }
    }

    fn sign(&self, machine: &MachineId, key: &impl PublicKeyData, now: Timestamp) -> Result<String, RenewalRefusal> {
        let uri = self.clients.uri(machine).ok_or_else(|| RenewalRefusal::Signing("machines have no URI".into()))?;
        let mut params = CertificateParams::default();
        // By default it comes of the key, and several certificates may be for one.
        params.serial_number = Some(SerialNumber::from_slice(uuid::Uuid::new_v4().as_bytes()));
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, machine.as_str());
        params.subject_alt_names = vec![SanType::URI(uri.try_into().map_err(signing)?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        // None lasts longer than the authority: whoever goes by its end hears in time.
        let now = now.since_epoch();
        let end = (now + self.valid).min(self.end);
        let at = |since: Duration| rcgen::date_time_ymd(1970, 1, 1) + since;
        (params.not_before, params.not_after) = (at(now.saturating_sub(SKEW)), at(end));
        Ok(params.signed_by(key, &self.authority).map_err(signing)?.pem())
    }

    /// Issues a certificate for nobody, and looks at it as a server would.
    fn try_out(&self, cert: &Path) -> Result<(), IssuerFault> {
        let untrusted = |fault: String| IssuerFault::Untrusted { cert: cert.to_owned(), fault };
        let nobody: MachineId = format!("fm100ds{}", "0".repeat(52))
            .parse()
            .map_err(|fault: proto::MachineIdError| untrusted(fault.to_string()))?;
        if self.clients.uri(&nobody).is_none() {
            return Err(IssuerFault::NoPattern);
        }
        let now = Timestamp::now();
        let left = self.end.saturating_sub(now.since_epoch());
        if left.is_zero() {
            return Err(IssuerFault::Over { cert: cert.to_owned() });
        }
        if left < self.valid {
            let days = left.as_secs() / DAY.as_secs();
            tracing::warn!(days, "machines' certificates will end with the authority's, which expires soon");
        }
        let issued = self.with_new_key(&nobody, now).map_err(|fault| untrusted(fault.to_string()))?;
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes())
            .map_err(|fault| untrusted(fault.to_string()))?;
        self.owner(&certificate, now.since_epoch()).map(drop).map_err(|fault| untrusted(fault.to_string()))
    }
}

fn read(path: &Path) -> Result<String, IssuerFault> {
    types::read_text(path, 1 << 20).map_err(wrong(path))
}

/// How long an RSA key is; none for another key.
fn rsa_bits(key: &x509_cert::spki::SubjectPublicKeyInfoOwned) -> Option<usize> {
    if key.algorithm.oid != x509_cert::der::oid::db::rfc5912::RSA_ENCRYPTION {
        return None;
    }
    let bytes = key.subject_public_key.raw_bytes();
    let modulus = SliceReader::new(bytes).ok().and_then(|mut reader| {
        let read = reader.sequence(|inner| {
            let modulus = UintRef::decode(inner)?.as_bytes().to_vec();
            UintRef::decode(inner)?;
            Ok::<_, x509_cert::der::Error>(modulus)
        });
        read.ok()
    });
    // One that cannot be read is as weak as can be.
    let modulus = modulus.unwrap_or_default();
    let zeros = modulus.first().map_or(0, |first| first.leading_zeros() as usize);
    Some((modulus.len() * 8).saturating_sub(zeros))
}

fn wrong<E: fmt::Display>(path: &Path) -> impl Fn(E) -> IssuerFault {
    move |fault| IssuerFault::File { path: path.to_owned(), fault: fault.to_string() }
}

fn signing(fault: rcgen::Error) -> RenewalRefusal {
    RenewalRefusal::Signing(fault.to_string())
}
