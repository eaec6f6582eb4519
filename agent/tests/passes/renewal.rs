//! The agent has its certificate renewed, also one that is over.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use agent::{Agent, StatusFile};
use proto::forge::MachineCertificate;
use rcgen::KeyPair;
use x509_cert::{Certificate, der::Encode as _};

use super::{
    authority::Authority,
    controller::{Controller, Serving, admin},
    dpu::Dpu,
    transport::{Files, said, with_tls},
};

const YEAR_2020: u64 = 1_577_836_800;
const YEAR_2090: u64 = 3_786_912_000;
const DAY: u64 = 86_400;

/// A DPU with a certificate, and a controller that lets clients in without one.
struct Site {
    authority: Authority,
    controller: Controller,
    dpu: Dpu,
    _serving: Serving,
}

impl Site {
    async fn start() -> Self {
        let (authority, controller) = (Authority::new(), Controller::default());
        controller.says(admin(1, 11));
        let tls = authority.server("localhost").client_auth_optional(true);
        let (address, _serving) = controller.listen("127.0.0.1:0", Some(tls)).await;
        let dpu = Dpu::new(&format!("https://localhost:{}", address.port()));
        Self { authority, controller, dpu, _serving }
    }

    fn agent(&self, pair: &(String, String)) -> (Agent, Files) {
        with_tls(&self.dpu, &self.authority, pair)
    }

    fn sends(&self, certificate: &str, key: &str) {
        self.controller.state().renewed = Some(MachineCertificate {
            public_key: certificate.into(),
            private_key: key.into(),
            issuing_ca: self.authority.pem().into(),
        });
    }

    fn alerts(&self) -> Vec<String> {
        StatusFile::read(&self.dpu.path().join("state")).unwrap().alerts
    }
}

fn texts(files: &Files) -> (String, String) {
    (fs::read_to_string(&files.cert).unwrap(), fs::read_to_string(&files.key).unwrap())
}

#[tokio::test(flavor = "current_thread")]
async fn a_certificate_that_is_over_is_renewed_for_the_same_key_without_showing_it_to_tls() {
    let site = Site::start().await;
    let (cert, key) = site.authority.issue_until("dpu", 2020);
    let (mut agent, files) = site.agent(&(cert.clone(), key.clone()));
    agent.pass().await;
    assert!(said(&site.dpu).contains("no answer"), "nothing else is answered: {}", said(&site.dpu));
    let former = Certificate::load_pem_chain(cert.as_bytes()).unwrap()[0].to_der().unwrap();
    assert_eq!(site.controller.state().renewals, [Some(former)]);
    let alerts = site.alerts();
    assert!(alerts.iter().any(|alert| alert.contains("certificate expired ")), "{alerts:?}");

    let new = site.authority.sign("dpu", &key, YEAR_2020, YEAR_2090);
    site.sends(&new, "");
    agent.retry_now();
    let pass = agent.pass().await;
    assert_eq!(pass.next_in, Duration::ZERO, "the controller is asked again at once");
    let chain = format!("{new}\n{}\n", site.authority.pem());
    assert_eq!(texts(&files), (chain, key));
    agent.pass().await;
    let told = site.controller.told();
    assert_eq!(told.network_config_version.as_deref(), Some("V1-T1"), "{}", said(&site.dpu));
    assert_eq!(told.client_certificate_expiry_unix_epoch_secs, Some(YEAR_2090.cast_signed()));
    assert_eq!(site.alerts(), [""; 0]);
}

#[tokio::test(flavor = "current_thread")]
async fn one_that_is_some_days_old_is_renewed_on_the_open_connection_with_its_new_key() {
    let site = Site::start().await;
    let (mut agent, files) = site.agent(&site.authority.issue_until("dpu", 2080));
    let key = KeyPair::generate().unwrap().serialize_pem();
    site.sends(&site.authority.sign("dpu", &key, YEAR_2020, YEAR_2090), &key);
    agent.pass().await;
    assert_eq!(site.controller.state().renewals, [None], "the connection says who asks");
    assert_eq!(texts(&files).1, key);
    for path in [&files.cert, &files.key] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let left: Vec<_> = fs::read_dir(site.dpu.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("next")), "{left:?}");
    agent.pass().await;
    let told = site.controller.told();
    assert_eq!(told.client_certificate_expiry_unix_epoch_secs, Some(YEAR_2090.cast_signed()));
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_sent_and_is_of_no_use_changes_nothing() {
    let site = Site::start().await;
    let pair = site.authority.issue_until("dpu", 2020);
    let (mut agent, files) = site.agent(&pair);
    let other = KeyPair::generate().unwrap().serialize_pem();
    for (case, certificate, key, reason) in [
        ("no longer", site.authority.sign("dpu", &pair.1, 0, YEAR_2020), "", "does not last longer"),
        ("for another key", site.authority.sign("dpu", &other, YEAR_2020, YEAR_2090), "", "is of no use"),
        ("cut off", site.authority.sign("dpu", &pair.1, YEAR_2020, YEAR_2090)[..200].to_owned(), "", "cannot be read"),
        ("nothing", String::new(), "", "cannot be read: it holds no certificate"),
        ("a broken key", site.authority.sign("dpu", &other, YEAR_2020, YEAR_2090), &other[..90], "is of no use"),
    ] {
        site.sends(&certificate, key);
        agent.retry_now();
        agent.pass().await;
        assert_eq!(texts(&files), pair, "{case}");
        agent.pass().await;
        let alerts = site.alerts();
        assert!(alerts.iter().any(|alert| alert.contains(reason)), "{case}: {alerts:?}");
        assert!(!format!("{alerts:?}").contains("PRIVATE"), "{alerts:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_renewal_that_was_cut_off_is_ended_by_the_next_agent() {
    let site = Site::start().await;
    let (old, new) = (site.authority.issue_until("dpu", 2080), site.authority.issue_until("dpu", 2090));
    // The new key is in place, the new certificate is not yet.
    let (mut agent, files) = site.agent(&(old.0, new.1.clone()));
    site.dpu.write("cert.pem.next", &new.0);
    agent.pass().await;
    assert_eq!(texts(&files), new);
    assert_eq!(site.controller.told().network_config_version.as_deref(), Some("V1-T1"), "{}", said(&site.dpu));
}

#[tokio::test(flavor = "current_thread")]
async fn certificates_that_something_else_renews_and_fresh_ones_are_left_alone() {
    let site = Site::start().await;
    let pair = site.authority.issue_until("dpu", 2020);
    let files = [("cert.pem", &pair.0), ("key.pem", &pair.1), ("ca.pem", &site.authority.pem())];
    files.iter().for_each(|(name, text)| site.dpu.write(name, text));
    let mut agent = site.dpu.agent_with(|settings| {
        let place = |name: &str| Some(site.dpu.path().join(name));
        (settings.tls.ca, settings.tls.cert, settings.tls.key) = (place("ca.pem"), place("cert.pem"), place("key.pem"));
        settings.tls.renew = false;
    });
    agent.retry_now();
    agent.pass().await;

    let key = KeyPair::generate().unwrap().serialize_pem();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let fresh = site.authority.sign("dpu", &key, now - 4 * DAY, now + 26 * DAY);
    let (mut agent, _files) = site.agent(&(fresh, key));
    agent.pass().await;
    assert_eq!(site.controller.state().renewals.len(), 0);
}
