//! Certificates of machines are renewed, by those that are valid and by those that have expired.

use proto::forge::{self, forge_client::ForgeClient};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tonic::{Code, Request, Status, metadata::MetadataValue};
use x509_cert::{Certificate, der::Decode as _};

use crate::support::{Guarded, ISSUER, Pair, Signer, config, dpu, host, now, refused, start, write_tls};

impl Guarded {
    /// Asks as `pair`'s owner.
    async fn renew(&self, pair: &Pair) -> Result<forge::MachineCertificate, Status> {
        self.ask(Some(pair), request()).await
    }

    /// Asks on a connection without a certificate, showing one.
    async fn renew_shown(&self, shown: &[u8]) -> Result<forge::MachineCertificate, Status> {
        let mut request = request();
        request.metadata_mut().insert_bin(proto::FORMER_CERTIFICATE, MetadataValue::from_bytes(shown));
        self.ask(None, request).await
    }

    async fn ask(
        &self,
        pair: Option<&Pair>,
        request: Request<forge::MachineCertificateRenewRequest>,
    ) -> Result<forge::MachineCertificate, Status> {
        let answer = ForgeClient::new(self.channel(pair)).renew_machine_certificate(request).await?;
        Ok(answer.into_inner().machine_certificate.unwrap())
    }
}

fn request() -> Request<forge::MachineCertificateRenewRequest> {
    Request::new(forge::MachineCertificateRenewRequest::default())
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn text(pem: Vec<u8>) -> String {
    String::from_utf8(pem).unwrap()
}

fn refusal(answer: Result<forge::MachineCertificate, Status>) -> (Code, String) {
    let status = answer.unwrap_err();
    (status.code(), status.message().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dpu_gets_a_new_certificate_with_a_new_key_for_itself() {
    let site = Guarded::renewing().await;
    let (own, other) = (dpu(1, 0), dpu(1, 1));
    let former = site.ca.machine(&own);
    let issued = site.renew(&former).await.unwrap();
    assert!(!format!("{issued:?}").contains("PRIVATE"), "a key is not for log lines");
    assert_eq!(text(issued.issuing_ca), site.ca.pem);
    let pair = (text(issued.public_key), text(issued.private_key));
    assert_ne!(pair.1, former.1);
    site.config(Some(&pair), &own).await.unwrap();
    assert_eq!(site.config(Some(&pair), &other).await.unwrap_err().code(), Code::PermissionDenied);

    let certificate = Certificate::from_der(&der(&pair.0)).unwrap();
    let validity = certificate.tbs_certificate().validity();
    let lasts = validity.not_after.to_unix_duration() - validity.not_before.to_unix_duration();
    assert_eq!(lasts.as_secs(), 30 * 86_400 + 300);
    let again = site.renew(&pair).await.unwrap();
    let again = Certificate::from_der(&der(&text(again.public_key))).unwrap();
    assert_ne!(again.tbs_certificate().serial_number(), certificate.tbs_certificate().serial_number());
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dpu_with_an_expired_certificate_gets_one_for_its_key() {
    let site = Guarded::renewing().await;
    let own = dpu(1, 0);
    for days in [0, 1, 29] {
        let over = site.ca.machine_until(&own, days);
        let code = site.config(Some(&over), &own).await.unwrap_err().code();
        assert!(![Code::Ok, Code::NotFound].contains(&code), "it is let in nowhere: {code}");
        let issued = site.renew_shown(&der(&over.0)).await.unwrap();
        assert!(issued.private_key.is_empty(), "whoever else asks gets nothing to speak with");
        site.config(Some(&(text(issued.public_key), over.1)), &own).await.unwrap();
    }
    // One whose clock is wrong shows a valid one.
    site.renew_shown(&der(&site.ca.machine(&own).0)).await.unwrap();
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_holds_no_key_of_the_authority_and_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let year = 1970 + i32::try_from(now().as_secs() / 31_556_952).unwrap();
    // It lasts for 1 to 366 days, and certificates are asked for that last 366.
    let ca = Signer::until("site-ca", year + 1);
    let tls = write_tls(dir.path(), &ca);
    let both = format!("{}{}", ca.issuer.key().serialize_pem(), ca.pem);
    std::fs::write(dir.path().join("both.pem"), both).unwrap();
    let issuer = "[issuer]\ncert = 'both.pem'\nkey = 'ca.key'\nvalid_days = 366\n";
    let daemon = start(dir.path(), config(dir.path(), &format!("{tls}{issuer}"))).await;
    let site = Guarded { ca, daemon, _dir: dir };
    let issued = site.renew_shown(&der(&site.ca.machine(&dpu(1, 0)).0)).await.unwrap();
    assert_eq!(text(issued.issuing_ca), site.ca.pem);
    let end = |pem: &str| Certificate::from_der(&der(pem)).unwrap().tbs_certificate().validity().not_after;
    assert_eq!(end(&text(issued.public_key)), end(&site.ca.pem));
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_lasts_no_longer_than_its_certificate() {
    let site = Guarded::start().await;
    let own = dpu(1, 0);
    let end = now() + std::time::Duration::from_secs(3);
    let mut agent = ForgeClient::new(site.channel(Some(&site.ca.machine_ending(&own, end))));
    let request = forge::ManagedHostNetworkConfigRequest { dpu_machine_id: Some((&own).into()) };
    agent.get_managed_host_network_config(request.clone()).await.unwrap();
    while now() <= end {
        tokio::time::sleep(end.saturating_sub(now())).await;
    }
    let status = agent.get_managed_host_network_config(request).await.unwrap_err();
    let told = "the client's certificate has expired";
    assert_eq!((status.code(), status.message()), (Code::PermissionDenied, told));
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_machines_certificate_of_the_site_is_not_renewed() {
    let site = Guarded::renewing().await;
    let (own, stranger) = (dpu(1, 0), dpu(9, 0));
    let denied = |text: &str| (Code::PermissionDenied, text.to_owned());

    let late = site.ca.machine_until(&own, 31);
    let too_late = denied("the certificate ended more than 30 days ago: it can only be replaced by hand");
    assert_eq!(refusal(site.renew_shown(&der(&late.0)).await), too_late);
    let forged = Signer::new("site-ca").machine_until(&own, 1);
    let (code, told) = refusal(site.renew_shown(&der(&forged.0)).await);
    assert_eq!(code, Code::PermissionDenied);
    assert!(told.starts_with("the certificate is none of this site's machines': invalid peer certificate"), "{told}");
    let operator = site.ca.unit("operators");
    let told = denied("the certificate is none of this site's machines': it is that of an operator");
    assert_eq!(refusal(site.renew_shown(&der(&operator.0)).await), told);
    assert_eq!(refusal(site.renew_shown(b"x").await).0, Code::InvalidArgument);
    assert_eq!(refusal(site.renew_shown(b"").await).0, Code::InvalidArgument);
    let unknown = denied(&format!("the site knows no DPU {stranger}"));
    assert_eq!(refusal(site.renew_shown(&der(&site.ca.machine(&stranger).0)).await), unknown);
    assert_eq!(refusal(site.renew(&site.ca.machine(&stranger)).await), unknown);

    let told = denied("an operator has no machine's certificate to renew");
    assert_eq!(refusal(site.renew(&operator).await), told);
    let told = denied(&format!("host {} may not call /forge.Forge/RenewMachineCertificate", host(1)));
    assert_eq!(refusal(site.renew(&site.ca.machine(&host(1))).await), told);
    let told = denied("a client without a certificate has no machine's certificate to renew");
    assert_eq!(refusal(site.ask(None, request()).await), told);
    // Nothing else may be called without a certificate.
    let status = site.config(None, &own).await.unwrap_err();
    let told = "a client without a certificate may not call /forge.Forge/GetManagedHostNetworkConfig";
    assert_eq!((status.code(), status.message()), (Code::PermissionDenied, told));
    site.daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_without_an_issuer_says_so() {
    let site = Guarded::start().await;
    let told = "this controller renews no certificates: its configuration has no [issuer]".to_owned();
    let asked = refusal(site.renew(&site.ca.machine(&dpu(1, 0))).await);
    assert_eq!(asked, (Code::FailedPrecondition, told));
    site.daemon.stop().await;
}

#[tokio::test]
async fn an_issuer_that_would_be_of_no_use_is_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let tls = write_tls(dir.path(), &Signer::new("site-ca"));
    let other = tempfile::tempdir().unwrap();
    write_tls(other.path(), &Signer::new("other-ca"));
    let over = tempfile::tempdir().unwrap();
    write_tls(over.path(), &Signer::until("old-ca", 2020));
    let (other, over) = (other.path().display(), over.path().display());
    for (text, faults) in [
        (ISSUER.to_owned(), &["[issuer] needs tls.client_ca: without certificates there is nothing to renew"][..]),
        (
            format!("{tls}[issuer]\ncert = '{other}/ca.pem'\nkey = '{other}/ca.key'\n"),
            &["[issuer]: certificates signed with ", "/ca.pem are not let in: ", "UnknownIssuer"],
        ),
        (
            format!("{tls}[issuer]\ncert = 'ca.pem'\nkey = '{other}/ca.key'\n"),
            &["[issuer]: certificates signed with ", "/ca.pem are not let in: "],
        ),
        (
            format!("{tls}[issuer]\ncert = '{over}/ca.pem'\nkey = '{over}/ca.key'\n"),
            &["[issuer]: the authority's certificate ", "/ca.pem has expired"],
        ),
        (format!("{tls}[issuer]\ncert = 'ca.pem'\nkey = 'ca.pem'\n"), &["[issuer]: cannot use ", "/ca.pem: "]),
        (
            format!("{tls}[issuer]\ncert = 'ca.pem'\nkey = 'none.key'\n"),
            &["[issuer]: cannot use ", "/none.key: No such file"],
        ),
        (format!("{tls}{ISSUER}valid_days = 0\n"), &["issuer.valid_days: 0 days are none"]),
        (format!("{tls}{ISSUER}[access]\nmachines = []\n"), &["[issuer] needs a pattern in access.machines"]),
    ] {
        let told = refused(config(dir.path(), &text)).await;
        assert!(faults.iter().all(|fault| told.contains(fault)), "{text}: {told}");
        assert!(!told.contains("PRIVATE"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_are_rated_for_each_machine() {
    let site = Guarded::renewing().await;
    let (own, other) = (site.ca.machine(&dpu(1, 0)), site.ca.machine(&dpu(1, 1)));
    for _ in 0..8 {
        site.renew(&own).await.unwrap();
    }
    let told = "8 certificates were made for this machine within ten minutes: wait a while";
    assert_eq!(refusal(site.renew(&own).await), (Code::ResourceExhausted, told.to_owned()));
    assert_eq!(refusal(site.renew_shown(&der(&own.0)).await).0, Code::ResourceExhausted);
    site.renew(&other).await.unwrap();
    site.daemon.stop().await;
}

/// `openssl req -newkey rsa:BITS` of a throw-away authority, signed again for a machine: only what `openssl` makes has an RSA
/// key that short.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_weak_key_is_not_renewed() {
    let site = Guarded::renewing().await;
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(place("ca.pem"), &site.ca.pem).unwrap();
    std::fs::write(place("ca.key"), site.ca.issuer.key().serialize_pem()).unwrap();
    for (bits, code) in [(1024, Some(Code::InvalidArgument)), (2048, None)] {
        let uri = format!("subjectAltName=URI:spiffe://forge.local/forge-system/machine/{}", dpu(1, 0));
        let (key, csr, pem, ext) = (place("k"), place("csr"), place("pem"), place("ext"));
        std::fs::write(&ext, format!("{uri}\nextendedKeyUsage=clientAuth\n")).unwrap();
        let rsa = format!("rsa:{bits}");
        for arguments in [
            vec!["req", "-newkey", &rsa, "-nodes", "-keyout", &key, "-subj", "/CN=dpu", "-out", &csr],
            vec![
                "x509",
                "-req",
                "-in",
                &csr,
                "-CA",
                &place("ca.pem"),
                "-CAkey",
                &place("ca.key"),
                "-CAcreateserial",
                "-days",
                "9",
                "-extfile",
                &ext,
                "-out",
                &pem,
            ],
        ] {
            let made = std::process::Command::new("openssl").args(&arguments).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        let answer = site.renew_shown(&der(&std::fs::read_to_string(&pem).unwrap())).await;
        match code {
            Some(code) => assert_eq!(
                refusal(answer),
                (code, "its key is too weak: RSA of 1024 bits, at least 2048 are needed".to_owned())
            ),
            None => drop(answer.unwrap()),
        }
    }
    site.daemon.stop().await;
}
