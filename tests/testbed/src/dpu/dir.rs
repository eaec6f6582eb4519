use std::{
    env, fs,
    fs::{File, OpenOptions},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result};
use atomic_write_file::AtomicWriteFile;
use serde::{Serialize, de::DeserializeOwned};

use super::Scenario;

/// Environment variable that names the directory of a simulated DPU.
pub const DPU_DIR: &str = "DPU_DIR";

/// The directory of one simulated DPU.
#[derive(Debug, Clone)]
pub struct DpuDir(PathBuf);

impl DpuDir {
    /// The DPU that the environment names.
    ///
    /// # Errors
    /// If `DPU_DIR` is not set or the directory cannot be made.
    pub fn from_env() -> Result<Self> {
        let dir = env::var_os(DPU_DIR).with_context(|| format!("set {DPU_DIR} to the directory of a simulated DPU"))?;
        Self::at(dir)
    }

    /// The DPU at `dir`, which is made if need be.
    ///
    /// # Errors
    /// If the directory cannot be made.
    pub fn at(dir: impl Into<PathBuf>) -> Result<Self> {
        let dir = dir.into();
        fs::create_dir_all(&dir).with_context(|| format!("make {}", dir.display()))?;
        Ok(Self(dir))
    }

    /// Where the DPU is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file or directory of the DPU.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// What is to go wrong, by `scenario.toml`. Nothing, if there is no such file.
    ///
    /// # Errors
    /// If the file is not readable or says something unknown.
    pub fn scenario(&self) -> Result<Scenario> {
        let path = self.join("scenario.toml");
        match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).with_context(|| format!("read {}", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Scenario::default()),
            Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
        }
    }

    /// Changes what is to go wrong from now on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_scenario(&self, scenario: &Scenario) -> Result<()> {
        self.write("scenario.toml", &toml::to_string(scenario)?)
    }

    /// Notes a command in the DPU's journal, one line a command.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn note(&self, command: &[String]) -> Result<()> {
        let path = self.join("journal");
        let mut journal = OpenOptions::new().create(true).append(true).open(&path)?;
        // One write a line: commands of one DPU may overlap.
        let line = format!("{} {}\n", millis_now(), command.join(" "));
        journal.write_all(line.as_bytes()).with_context(|| format!("write {}", path.display()))
    }

    /// The commands that were run on the DPU, oldest first, each with its time in milliseconds since the epoch.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn journal(&self) -> Result<Vec<(u64, String)>> {
        let text = match fs::read_to_string(self.join("journal")) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let line = |line: &str| line.split_once(' ').and_then(|(at, rest)| Some((at.parse().ok()?, rest.to_owned())));
        Ok(text.lines().filter_map(line).collect())
    }

    /// Reads a JSON file of the DPU; the default, if there is none yet.
    pub(super) fn load<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        match fs::read(self.join(name)) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("read {name}")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(error).with_context(|| format!("read {name}")),
        }
    }

    pub(super) fn store(&self, name: &str, value: &impl Serialize) -> Result<()> {
        self.write(name, &serde_json::to_string_pretty(value)?)
    }

    /// Writes a file whole or not at all: readers take no lock.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.join(name);
        let mut file = AtomicWriteFile::open(&path).with_context(|| format!("write {}", path.display()))?;
        file.write_all(text.as_bytes())?;
        file.commit().with_context(|| format!("write {}", path.display()))
    }

    /// Holds other commands of the same kind off until the file is dropped or the process ends.
    pub(super) fn lock(&self, name: &str) -> Result<File> {
        let file = File::create(self.join(name)).with_context(|| format!("lock {name}"))?;
        file.lock().with_context(|| format!("lock {name}"))?;
        Ok(file)
    }
}

/// Milliseconds since the epoch.
pub(super) fn millis_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
