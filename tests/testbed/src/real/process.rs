use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// How often [`until`] looks.
const LOOK: Duration = Duration::from_millis(100);
/// How long a process may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// A process that is killed with this value.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command; what it prints goes to the file `log`.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Self {
        let out =
            File::options().create(true).append(true).open(log).unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let error = out.try_clone().expect("a second handle on a log file");
        let child = command.stdin(Stdio::null()).stdout(out).stderr(error).spawn();
        let child = child.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self { name: name.into(), child, log: log.into() }
    }

    /// Process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// How it ended, if it did.
    ///
    /// # Panics
    /// If the system does not say.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the state of a child process")
    }

    /// Fails the test if the process is gone, with what it printed.
    ///
    /// # Panics
    /// If the process ended.
    pub fn must_run(&mut self) {
        if let Some(status) = self.ended() {
            panic!("{} ended, {status}; it said:\n{}", self.name, self.log());
        }
    }

    /// Sends a signal, by the name that `kill` knows.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Asks it to end, and waits; a process that does not care is killed.
    pub fn stop(mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
            let deadline = Instant::now() + GRACE;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is an answer.
///
/// # Panics
/// If there is none within `limit`; the last reason why not is told.
pub fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) if Instant::now() >= deadline => panic!("{what}: not within {limit:?}; last seen: {why}"),
            Err(_) => sleep(LOOK),
        }
    }
}

pub(super) fn signal(process: u32, name: &str) {
    let _ = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null()).status();
}
