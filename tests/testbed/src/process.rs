//! A program that runs for a site or a test: it is started, signalled and ended here and nowhere else, can be started
//! again, and ends with its owner.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

/// Time that a program has to end by itself.
const GRACE: Duration = Duration::from_secs(10);
/// Time between two looks at whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// A program that runs, can be killed and started again, and ends with its owner.
#[derive(Debug)]
pub struct Process {
    name: String,
    command: Command,
    once: Vec<OsString>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// A program that does not run yet. What it prints is added to the file `log`.
    #[must_use]
    pub fn new(name: &str, command: Command, log: PathBuf) -> Self {
        Self { name: name.into(), command, once: Vec::new(), log, child: None }
    }

    /// Adds an argument of its next start alone.
    pub fn add_once(&mut self, argument: &str) {
        self.once.push(argument.into());
    }

    /// Starts it, unless it runs.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn start(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("open {}", self.log.display()))?;
        let mut command = Command::new(self.command.get_program());
        let environment = self.command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.args(self.command.get_args()).args(self.once.drain(..)).envs(environment);
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let program = self.command.get_program().display();
        self.child = Some(command.spawn().with_context(|| format!("start {} with {program}", self.name))?);
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

    /// Sends a signal, by the name that `kill` knows.
    ///
    /// # Errors
    /// If it was never started, or has ended and was waited for.
    pub fn signal(&self, name: &str) -> Result<()> {
        let id = self.id().with_context(|| format!("{} does not run", self.name))?;
        anyhow::ensure!(signal(id, name), "SIG{name} was not sent to {}", self.name);
        Ok(())
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself: then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to end, and ends it if it does not within ten seconds. True if it ended by itself with success. Clients of
    /// this runtime hear meanwhile that it ends.
    pub async fn stop(&mut self) -> bool {
        let deadline = Instant::now() + GRACE;
        let asked = self.is_running() && self.signal("TERM").is_ok();
        while asked && self.is_running() && Instant::now() < deadline {
            tokio::time::sleep(PAUSE).await;
        }
        self.end() && asked
    }

    /// The same for a thread.
    pub fn block_stop(&mut self) -> bool {
        let deadline = Instant::now() + GRACE;
        let asked = self.is_running() && self.signal("TERM").is_ok();
        while asked && self.is_running() && Instant::now() < deadline {
            sleep(PAUSE);
        }
        self.end() && asked
    }

    /// Ends it if it has not ended by itself. True if it had, with success.
    fn end(&mut self) -> bool {
        let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
        self.kill();
        ended.is_some_and(|status| status.success())
    }

    /// All that it has printed.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The last lines that it printed, each with its name.
    #[must_use]
    pub fn tail(&self, lines: usize) -> String {
        let text = self.log();
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

/// Sends a signal to a process by its id. False if there is no such process.
pub(crate) fn signal(process: u32, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null());
    kill.status().is_ok_and(|status| status.success())
}
