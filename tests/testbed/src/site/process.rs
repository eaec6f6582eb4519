use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::time::sleep;

/// Time that a program has to end by itself.
const GRACE: Duration = Duration::from_secs(10);

/// A program of the site that runs, can be killed and started again, and ends with its owner.
#[derive(Debug)]
pub struct Process {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    once: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// A program that does not run yet. Its output goes to `logs/NAME.log`.
    #[must_use]
    pub fn new(name: &str, program: PathBuf, logs: &Path) -> Self {
        let log = logs.join(format!("{name}.log"));
        let (arguments, once, environment) = Default::default();
        Self { name: name.into(), program, arguments, once, environment, log, child: None }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds an argument of its next start alone.
    #[must_use]
    pub fn arg_once(mut self, argument: &str) -> Self {
        self.add_once(argument);
        self
    }

    /// [`Process::arg_once`] for one that has run already.
    pub fn add_once(&mut self, argument: &str) {
        self.once.push(argument.into());
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Starts it, unless it runs.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn start(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let open = || OpenOptions::new().create(true).append(true).open(&self.log);
        let log: File = open().with_context(|| format!("open {}", self.log.display()))?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .args(std::mem::take(&mut self.once))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", self.program.display()))?;
        self.child = Some(child);
        Ok(())
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Its process id, if it was started.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself: then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to end, and ends it if it does not within ten seconds. True if it ended by itself with success.
    ///
    /// # Errors
    /// If the signal cannot be sent.
    pub async fn stop(&mut self) -> Result<bool> {
        let Some(id) = self.id().filter(|_| self.is_running()) else { return Ok(false) };
        Command::new("kill").args(["-TERM", &id.to_string()]).status().context("run kill")?;
        let deadline = Instant::now() + GRACE;
        while self.is_running() && Instant::now() < deadline {
            sleep(Duration::from_millis(20)).await;
        }
        let ended_well =
            self.child.as_mut().and_then(|child| child.try_wait().ok().flatten()).is_some_and(|s| s.success());
        self.kill();
        Ok(ended_well)
    }

    /// The last lines that it printed, each with its name.
    #[must_use]
    pub fn tail(&self, lines: usize) -> String {
        let text = fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let all: Vec<_> = text.lines().collect();
        let last = all.get(all.len().saturating_sub(lines)..).unwrap_or_default();
        last.iter().map(|line| format!("{}: {line}\n", self.name)).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
