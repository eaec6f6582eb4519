use std::{collections::BTreeMap, fmt::Write as _, fs};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Answer, DpuDir, dir::millis_now};

/// The supervisor's name of the DHCP server.
pub const DHCP_PROGRAM: &str = "kea-dhcp4";
const FILE: &str = "services.json";

/// State of a program, in the supervisor's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ProgramState {
    /// Runs.
    Running,
    /// Was stopped, or never started.
    Stopped,
    /// Is on its way.
    Starting,
    /// Ends too soon and is started again.
    Backoff,
    /// Ended by itself.
    Exited,
    /// Will not be started again.
    Fatal,
}

/// A program under the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its state.
    pub state: ProgramState,
    /// When it came into this state, in milliseconds since the epoch; `None` if it was never started.
    pub since: Option<u64>,
    /// How often it was started.
    pub starts: u32,
}

/// The programs in HBN that the supervisor runs, by name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Services(BTreeMap<String, Program>);

impl Default for Services {
    fn default() -> Self {
        use ProgramState::{Exited, Running, Stopped};
        let program = |(name, state): (&str, _)| {
            let since = (state != Stopped).then(millis_now);
            (name.to_owned(), Program { state, since, starts: u32::from(since.is_some()) })
        };
        let all = [
            ("cron", Running),
            ("decrypt-user-add", Exited),
            ("frr", Running),
            ("frr-reload", Stopped),
            ("ifreload", Exited),
            (DHCP_PROGRAM, Stopped),
            ("neighmgr", Running),
            ("nginx", Running),
            ("nl2doca", Running),
            ("nvued", Running),
            ("nvued-startup", Exited),
            ("rsyslog", Running),
            ("sysctl-apply", Exited),
        ];
        Self(all.map(program).into())
    }
}

impl Services {
    /// The programs of a DPU as they are now, with those that the scenario puts in another state.
    ///
    /// # Errors
    /// If the DPU's files cannot be read.
    pub fn of(dir: &DpuDir) -> Result<Self> {
        let mut services: Self = dir.load(FILE)?;
        for (name, state) in dir.scenario()?.services {
            services.0.entry(name).or_insert(Program { state, since: None, starts: 0 }).state = state;
        }
        Ok(services)
    }

    /// The state of a program.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<ProgramState> {
        self.0.get(name).map(|program| program.state)
    }

    /// Whether the DHCP server answers the host.
    #[must_use]
    pub fn dhcp_runs(&self) -> bool {
        self.state(DHCP_PROGRAM) == Some(ProgramState::Running)
    }
}

/// Runs `supervisorctl` on a DPU. Starting the DHCP server takes a copy of its configuration, `kea-dhcp4.conf`, as
/// `kea-dhcp4.running`: what it serves until it is started again.
///
/// # Errors
/// If the DPU's files cannot be read or written: a fault of the simulation, not a simulated one.
pub fn run_supervisorctl(dir: &DpuDir, words: &[String]) -> Result<Answer> {
    let _lock = dir.lock("services.lock")?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut services: Services = dir.load(FILE)?;
    let answer = match words.as_slice() {
        ["status", names @ ..] => return Ok(status(&Services::of(dir)?, names)),
        ["update" | "reread"] => Answer::default(),
        ["restart", name] => {
            let stopped = services.stop(dir, name)?;
            let started = services.start(dir, name)?;
            if started.code == 0 { Answer::says(stopped.stdout + &started.stdout) } else { started }
        }
        ["start", name] => services.start(dir, name)?,
        ["stop", name] => services.stop(dir, name)?,
        _ => Answer { stdout: format!("*** Unknown syntax: {}\n", words.join(" ")), stderr: String::new(), code: 2 },
    };
    dir.store(FILE, &services)?;
    Ok(answer)
}

impl Services {
    fn start(&mut self, dir: &DpuDir, name: &str) -> Result<Answer> {
        let Some(program) = self.0.get_mut(name) else { return Ok(no_such(name)) };
        if program.state == ProgramState::Running {
            return Ok(Answer::says(format!("{name}: ERROR (already started)\n")));
        }
        program.since = Some(millis_now());
        program.starts += 1;
        if name == DHCP_PROGRAM && fs::copy(dir.join("kea-dhcp4.conf"), dir.join("kea-dhcp4.running")).is_err() {
            program.state = ProgramState::Fatal;
            return Ok(Answer::complains(format!("{name}: ERROR (spawn error)\n")));
        }
        program.state = ProgramState::Running;
        Ok(Answer::says(format!("{name}: started\n")))
    }

    fn stop(&mut self, dir: &DpuDir, name: &str) -> Result<Answer> {
        let Some(program) = self.0.get_mut(name) else { return Ok(no_such(name)) };
        if program.state != ProgramState::Running {
            program.state = ProgramState::Stopped;
            return Ok(Answer::says(format!("{name}: ERROR (not running)\n")));
        }
        (program.state, program.since) = (ProgramState::Stopped, Some(millis_now()));
        if name == DHCP_PROGRAM {
            let _ = fs::remove_file(dir.join("kea-dhcp4.running"));
        }
        Ok(Answer::says(format!("{name}: stopped\n")))
    }
}

fn no_such(name: &str) -> Answer {
    Answer::complains(format!("{name}: ERROR (no such process)\n"))
}

/// Exit status 3 if any of the programs shown does not run, as the supervisor has it.
fn status(services: &Services, names: &[&str]) -> Answer {
    let mut text = String::new();
    let mut all_run = true;
    for name in names.iter().filter(|name| !services.0.contains_key(**name)) {
        all_run = false;
        let _ = writeln!(text, "{name}: ERROR (no such process)");
    }
    for (place, (name, program)) in services.0.iter().enumerate() {
        if !names.is_empty() && !names.contains(&name.as_str()) {
            continue;
        }
        let uptime = program.since.map_or(0, |since| millis_now().saturating_sub(since) / 1000);
        let (word, detail) = match program.state {
            ProgramState::Running => {
                let (hours, minutes, seconds) = (uptime / 3600, uptime / 60 % 60, uptime % 60);
                ("RUNNING", format!("pid {}, uptime {hours}:{minutes:02}:{seconds:02}", 15 + place))
            }
            ProgramState::Stopped if program.since.is_none() => ("STOPPED", "Not started".into()),
            ProgramState::Stopped => ("STOPPED", "Mar 06 06:24 PM".into()),
            ProgramState::Exited => ("EXITED", "Mar 06 06:24 PM".into()),
            ProgramState::Starting => ("STARTING", String::new()),
            ProgramState::Backoff => ("BACKOFF", "Exited too quickly (process log may have details)".into()),
            ProgramState::Fatal => ("FATAL", "Exited too quickly (process log may have details)".into()),
        };
        all_run &= program.state == ProgramState::Running;
        let _ = writeln!(text, "{}", format!("{name:<32} {word:<9} {detail}").trim_end());
    }
    Answer { stdout: text, stderr: String::new(), code: if all_run { 0 } else { 3 } }
}
