//! A BMC that somebody else wrote: OpenStack's Redfish emulator.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::{must_run, parts, started};
use crate::{Process, block_until};

/// OpenStack's Redfish emulator: a BMC with systems that have a power state and nothing else behind them.
#[derive(Debug)]
pub struct Emulator {
    process: Process,
    url: String,
    _directory: TempDir,
}

/// What the emulator is to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmulatorSettings {
    /// Number of systems behind it; each is on at first.
    pub systems: u8,
    /// Asks for [`Emulator::USER`] and [`Emulator::PASSWORD`].
    pub password: bool,
    /// HTTPS with a certificate that it signed itself, as BMCs come.
    pub tls: bool,
}

/// [`Emulator::PASSWORD`], as the emulator's password file wants it.
const PASSWORD_HASH: &str = "$2b$04$s22rv7K8MkCst3r2f0q4cOaODn8VQme2Kc1.xmInSfajfgcRR9uZq";

impl Emulator {
    /// User, if it asks for one.
    pub const USER: &str = "root";
    /// That user's password.
    pub const PASSWORD: &str = "factory-default";

    /// Starts it on a free loopback port. A change of power takes it at most a second.
    ///
    /// # Panics
    /// If it does not come up.
    #[must_use]
    pub fn start(settings: EmulatorSettings) -> Self {
        let directory = tempfile::Builder::new().prefix("real-redfish").tempdir().expect("a directory");
        let config = directory.path().join("emulator.conf");
        std::fs::write(&config, configuration(settings, directory.path())).expect("a file");
        if settings.password {
            let line = format!("{}:{PASSWORD_HASH}\n", Self::USER);
            std::fs::write(directory.path().join("users"), line).expect("a file");
        }
        if settings.tls {
            certificate(directory.path());
        }
        let mut command = Command::new(parts::emulator_program());
        command.arg("--config").arg(&config).env("PYTHONUNBUFFERED", "1");
        let mut process = started(Process::new("sushy-emulator", command, directory.path().join("log")));
        let url = block_until("the BMC emulator listens", Duration::from_secs(30), || {
            must_run(&mut process);
            let said = process.log();
            let address = said.split_once("Running on ").and_then(|(_, rest)| rest.lines().next().map(str::trim));
            address.map(str::to_owned).ok_or_else(|| said.clone())
        });
        Self { process, url, _directory: directory }
    }

    /// Where it listens, `http://` or `https://`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Redfish id of a system.
    #[must_use]
    pub fn system_id(number: u8) -> String {
        format!("00000000-0000-4000-8000-0000000000{number:02x}")
    }

    /// The requests it answered, as `METHOD PATH STATUS`, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let said = self.process.log();
        // A line is: 127.0.0.1 - - [date] "GET /redfish/v1/Systems HTTP/1.1" 200 -
        let request = |line: &str| {
            let (_, rest) = line.split_once('"')?;
            let (request, rest) = rest.split_once(" HTTP/")?;
            // All but plain successes are painted.
            let request =
                request.rsplit_once("\u{1b}[").map_or(Some(request), |(_, rest)| Some(rest.split_once('m')?.1))?;
            let status = rest.split_once("\" ")?.1.split(' ').next()?;
            Some(format!("{request} {status}"))
        };
        said.lines().filter_map(request).collect()
    }
}

fn configuration(settings: EmulatorSettings, directory: &Path) -> String {
    let directory = directory.display();
    let systems: String = (0..settings.systems)
        .map(|number| {
            let id = Emulator::system_id(number);
            format!(
                "    {{'uuid': '{id}', 'name': 'host{number}', 'power_state': 'On', 'external_notifier': False, 'nics': []}},\n"
            )
        })
        .collect();
    let mut text = format!(
        "# The emulator dices how long a change of power takes, 1 to 11 seconds; always take the shortest.\n\
         import random\n\
         random.randint = lambda shortest, longest: shortest\n\
         SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\n\
         SUSHY_EMULATOR_LISTEN_PORT = 0\n\
         SUSHY_EMULATOR_FAKE_DRIVER = True\n\
         SUSHY_EMULATOR_STATE_DIR = '{directory}/state'\n\
         SUSHY_EMULATOR_FAKE_SYSTEMS = [\n{systems}]\n"
    );
    if settings.password {
        text += &format!("SUSHY_EMULATOR_AUTH_FILE = '{directory}/users'\n");
    }
    if settings.tls {
        text += &format!(
            "SUSHY_EMULATOR_SSL_CERT = '{directory}/cert.pem'\nSUSHY_EMULATOR_SSL_KEY = '{directory}/key.pem'\n"
        );
    }
    text
}

fn certificate(directory: &Path) {
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    command
        .args(["-subj", "/CN=bmc", "-keyout"])
        .arg(directory.join("key.pem"))
        .arg("-out")
        .arg(directory.join("cert.pem"));
    let done = command.stdin(Stdio::null()).output().expect("openssl runs");
    assert!(done.status.success(), "openssl: {}", String::from_utf8_lossy(&done.stderr));
}
