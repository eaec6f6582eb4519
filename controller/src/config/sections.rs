//! The tables of the configuration file.

use std::{path::PathBuf, time::Duration};

use bmc::Secret;
use serde::Deserialize;
use types::read_text;

use super::{ConfigError, MOST_BYTES, read_fault};

/// Firmware that the site wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Firmware {
    /// Version that the BMCs of DPUs should have, as they tell it. Without one nobody knows whether a DPU's firmware is as
    /// wanted, and a new DPU waits.
    pub dpu_bmc: Option<String>,
}

/// How BMCs are reached.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BmcAccess {
    /// PEM certificate that BMC certificates must come from; they are not checked without it.
    pub ca: Option<PathBuf>,
    /// Limit for one request, in seconds.
    pub timeout_secs: f64,
    /// File with the UEFI password that the site's hosts get; without one, hosts that have to have one wait.
    pub uefi_password_file: Option<PathBuf>,
}

impl Default for BmcAccess {
    fn default() -> Self {
        Self { ca: None, timeout_secs: 30.0, uefi_password_file: None }
    }
}

impl BmcAccess {
    /// Limit for one request.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        seconds(self.timeout_secs)
    }

    /// The UEFI password, read from its file.
    ///
    /// # Errors
    /// If the file cannot be read, or is empty.
    pub fn uefi_password(&self) -> Result<Option<Secret>, ConfigError> {
        let Some(path) = &self.uefi_password_file else { return Ok(None) };
        let text = read_text(path, MOST_BYTES).map_err(|error| read_fault(path, &error))?;
        match text.trim() {
            "" => Err(read_fault(path, &std::io::Error::other("it is empty"))),
            password => Ok(Some(Secret::new(password))),
        }
    }
}

/// Times, in seconds with fractions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// Every host is decided at least this often.
    pub sweep_secs: f64,
    /// How long a stop waits for work in hand.
    pub drain_secs: f64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { sweep_secs: 30.0, drain_secs: 10.0 }
    }
}

impl Timing {
    /// Time between sweeps.
    #[must_use]
    pub fn sweep(&self) -> Duration {
        seconds(self.sweep_secs)
    }

    /// Time that a stop waits.
    #[must_use]
    pub fn drain(&self) -> Duration {
        seconds(self.drain_secs)
    }
}

/// Files of the server's identity.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain, PEM.
    pub cert: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
    /// Who signs client certificates; clients need none if absent.
    pub client_ca: Option<PathBuf>,
}

/// Log lines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// How they are written.
    pub format: LogFormat,
    /// What is written, e.g. `info` or `controller=debug`.
    pub filter: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Which names in a certificate make a client what, as the configuration gives it: `OU=NAME`, or a URI, which may end with
/// `*`. In that of a machine, `{machine_id}` stands for its id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// DPUs and hosts: each may speak of itself alone.
    pub machines: Vec<String>,
    /// May do everything.
    pub operators: Vec<String>,
    /// Services that speak for tenants.
    pub tenants: Vec<String>,
    /// Services that report what they see of hosts.
    pub observers: Vec<String>,
    /// File of certificates that are let in no more, a line each: a serial number in hexadecimal, a URI, or `OU=NAME`.
    pub refused: Option<PathBuf>,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            machines: vec!["spiffe://forge.local/forge-system/machine/{machine_id}".to_owned()],
            operators: vec!["OU=operators".to_owned()],
            tenants: vec!["OU=tenants".to_owned()],
            observers: vec!["OU=observers".to_owned()],
            refused: None,
        }
    }
}

/// What machines' certificates are renewed with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerFiles {
    /// Certificate of the authority that signs, PEM; `tls.client_ca` must trust it.
    pub cert: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// How long a certificate is valid, in days.
    #[serde(default = "thirty")]
    pub valid_days: u16,
    /// How long after its end a certificate may still be renewed, in days.
    #[serde(default = "thirty")]
    pub late_days: u16,
}

fn thirty() -> u16 {
    30
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
