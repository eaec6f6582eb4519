//! The daemon's configuration: a TOML file, parsed and checked as a whole before anything starts.

mod passwords;
mod sections;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use types::read_text;

pub use passwords::has_password;
pub(crate) use passwords::without_passwords;
pub use sections::{Access, BmcAccess, Firmware, IssuerFiles, Log, LogFormat, Timing, Tls};

/// Settings of the daemon, as its TOML file gives them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where gRPC is served; port 0 takes a free one.
    #[serde(default = "default_listen")]
    pub listen: SocketAddr,
    /// Whoever reaches `listen` may do everything, and that is meant: without client certificates, only addresses of this
    /// machine are served unless this says so.
    #[serde(default)]
    pub open: bool,
    /// Where metrics are served; not at all if absent.
    pub metrics_listen: Option<SocketAddr>,
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://USER:PASSWORD@HOST/DATABASE`.
    #[serde(default = "default_database")]
    pub database: String,
    /// File that holds `database`, for one with a password that is not to stand here.
    pub database_file: Option<PathBuf>,
    /// Directory of the rule pack.
    pub rules: Option<PathBuf>,
    /// Share of hosts that other rules may decide otherwise without anybody insisting, from 0 to 1.
    #[serde(default = "default_rules_changed_share")]
    pub rules_changed_share: f64,
    /// Take the directory's pack if the one that was active last cannot be used. No file says so: it would be for ever.
    #[serde(skip)]
    pub replace_rules: bool,
    /// The site begins: its database may be one without hosts. No file says so: it would be for ever.
    #[serde(skip)]
    pub new_site: bool,
    /// Site file.
    pub site_file: Option<PathBuf>,
    /// File that gets the address where gRPC is served, once it is.
    pub address_file: Option<PathBuf>,
    /// Times.
    #[serde(default)]
    pub timing: Timing,
    /// TLS; plain if absent.
    pub tls: Option<Tls>,
    /// Who clients are by their certificates; only where they need one.
    pub access: Option<Access>,
    /// What machines' certificates are renewed with; not at all if absent.
    pub issuer: Option<IssuerFiles>,
    /// Log lines.
    #[serde(default)]
    pub log: Log,
    /// How BMCs are reached.
    #[serde(default)]
    pub bmc: BmcAccess,
    /// Firmware that the site wants.
    #[serde(default)]
    pub firmware: Firmware,
    /// Switches of the site, which rules see.
    #[serde(default)]
    pub site: rules::Site,
    /// Seconds by name, in place of those that the rule pack names.
    #[serde(default)]
    pub rule_timeouts: BTreeMap<String, i64>,
    /// Limits by name, in place of those that the rule pack names.
    #[serde(default)]
    pub rule_limits: BTreeMap<String, i64>,
}

/// Why a config file is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {path}: {fault}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        fault: String,
    },
    /// It says something wrong.
    #[error("{path}: {fault}")]
    Wrong {
        /// The file.
        path: String,
        /// All that is wrong, a line each.
        fault: String,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: default_listen(),
            open: false,
            metrics_listen: None,
            database_file: None,
            database: default_database(),
            rules: None,
            rules_changed_share: default_rules_changed_share(),
            replace_rules: false,
            new_site: false,
            site_file: None,
            address_file: None,
            timing: Timing::default(),
            tls: None,
            access: None,
            issuer: None,
            log: Log::default(),
            bmc: BmcAccess::default(),
            firmware: Firmware::default(),
            site: rules::Site::default(),
            rule_timeouts: BTreeMap::new(),
            rule_limits: BTreeMap::new(),
        }
    }
}

impl Config {
    /// Reads a file. Relative paths in it are meant from the file's directory.
    ///
    /// # Errors
    /// If it cannot be read, is no TOML, has an unknown key or a wrong value.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let text = read_text(path, MOST_BYTES).map_err(|error| read_fault(path, &error))?;
        let mut config = Self::parse(&shown, &text)?;
        let base = path.parent().unwrap_or(Path::new(""));
        let files = [
            &mut config.rules,
            &mut config.site_file,
            &mut config.address_file,
            &mut config.bmc.ca,
            &mut config.bmc.uefi_password_file,
        ];
        for file in files.into_iter().filter_map(Option::as_mut) {
            *file = base.join(&*file);
        }
        if let Some(tls) = &mut config.tls {
            for file in [Some(&mut tls.cert), Some(&mut tls.key), tls.client_ca.as_mut()].into_iter().flatten() {
                *file = base.join(&*file);
            }
        }
        if let Some(issuer) = &mut config.issuer {
            for file in [&mut issuer.cert, &mut issuer.key] {
                *file = base.join(&*file);
            }
        }
        if let Some(access) = &mut config.access
            && let Some(file) = &mut access.refused
        {
            *file = base.join(&*file);
        }
        if let Some(file) = config.database_file.as_ref().map(|file| base.join(file)) {
            let text = read_text(&file, MOST_BYTES).map_err(|error| read_fault(&file, &error))?;
            config.database = text.trim().to_owned();
        }
        if let Some(file) = config.database.strip_prefix("sqlite:")
            && file != ":memory:"
        {
            config.database = format!("sqlite:{}", base.join(file).display());
        }
        Ok(config)
    }

    /// Reads the text of a file; `path` is its name in errors.
    ///
    /// # Errors
    /// If it is no TOML, has an unknown key or a wrong value.
    pub fn parse(path: &str, text: &str) -> Result<Self, ConfigError> {
        // The reader shows the line that is wrong, whatever stands in it.
        let wrong = |fault: String| ConfigError::Wrong { path: path.to_owned(), fault: without_passwords(&fault) };
        let file = toml::Deserializer::parse(text).map_err(|error| wrong(error.to_string()))?;
        let config: Self = serde_path_to_error::deserialize(file).map_err(|error| {
            let key = error.path().to_string();
            let fault = error.into_inner();
            wrong(unknown_key(&key, fault.message()).unwrap_or_else(|| fault.to_string()))
        })?;
        for (name, value) in [
            ("timing.sweep_secs", config.timing.sweep_secs),
            ("timing.drain_secs", config.timing.drain_secs),
            ("bmc.timeout_secs", config.bmc.timeout_secs),
        ] {
            if !(0.01..=86_400.0).contains(&value) {
                return Err(wrong(format!("{name}: {value} is not within 0.01 and 86400 seconds")));
            }
        }
        let share = config.rules_changed_share;
        if !(0.0..=1.0).contains(&share) {
            return Err(wrong(format!("rules_changed_share: {share} is not a share from 0 to 1")));
        }
        Ok(config)
    }
}

/// What to say of a key that is none, from serde's word for it: "unknown field `x`, expected one of `a`, `b`".
fn unknown_key(path: &str, message: &str) -> Option<String> {
    let (name, known) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(format!("{path}: unknown key{}", types::did_you_mean(name, &known)))
}

/// Most bytes of a file of settings.
const MOST_BYTES: u64 = 1 << 20;

fn read_fault(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Read { path: path.display().to_string(), fault: error.to_string() }
}

fn default_rules_changed_share() -> f64 {
    0.2
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1079))
}

fn default_database() -> String {
    "sqlite:site.db".to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(Config::parse("c", "").unwrap(), Config::default());
    }

    #[test]
    fn fractions_of_a_second_are_kept() {
        let config = Config::parse("c", "listen = '127.0.0.1:0'\n[timing]\nsweep_secs = 0.5").unwrap();
        assert_eq!((config.timing.sweep(), config.listen.port()), (Duration::from_millis(500), 0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, fault) in [
            ("lisen = 'x'", "c: lisen: unknown key, did you mean `listen`?"),
            ("[tls]\ncert='a'\nkey='b'\nca='c'", "c: tls.ca: unknown key; known are cert, key, client_ca"),
            ("[timing]\nsweep_secs = 0", "c: timing.sweep_secs: 0 is not within 0.01 and 86400 seconds"),
            ("rules_changed_share = 20", "c: rules_changed_share: 20 is not a share from 0 to 1"),
            ("[timing]\nsweep_secs = nan", "c: timing.sweep_secs: NaN is not within 0.01 and 86400 seconds"),
        ] {
            assert_eq!(Config::parse("c", text).unwrap_err().to_string(), fault);
        }
        let secret = "database = 'postgres://site:p@ss@db/site?password=x";
        let error = Config::parse("c", secret).unwrap_err().to_string();
        assert!(
            error.contains("postgres://***@") && !error.contains("p@ss") && !error.contains("password=x"),
            "{error}"
        );
        let error = Config::parse("c", "database = 7").unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("expected a string"), "{error}");
    }
}
