//! Runs commands: bounded in time and output, without input, and with all their children ended. `apply`, `health` and this
//! room call it.

use std::{
    io::ErrorKind,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{io::AsyncReadExt as _, process::Command};

use crate::parse::{ParseFault, excerpt};

/// Most bytes that are read from one output; a command that prints more is stopped.
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;

/// What a command printed and how it ended.
#[derive(Debug, Clone)]
pub(crate) struct CommandOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// Whether it exited with 0.
    pub(crate) fn success(&self) -> bool {
        self.status.success()
    }

    /// Standard output and standard error together, for programs that use either for errors.
    pub(crate) fn both(&self) -> String {
        match (self.stdout.trim().is_empty(), self.stderr.trim().is_empty()) {
            (_, true) => self.stdout.clone(),
            (true, false) => self.stderr.clone(),
            (false, false) => format!("{}\n{}", self.stdout.trim_end(), self.stderr),
        }
    }

    /// How it ended: its exit status and the first line that it printed.
    pub(crate) fn ending(&self) -> String {
        let printed = self.both();
        let line = printed.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if line.is_empty() { self.status.to_string() } else { format!("{}: {}", self.status, excerpt(line)) }
    }
}

/// What a command printed, or why it did not run to its end.
pub(crate) type CommandResult = Result<CommandOutput, CommandFault>;

/// Why there is no output.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum CommandFault {
    #[error("`{command}` cannot be started: {reason}")]
    Start { command: String, reason: String },
    #[error("`{command}` did not end within {} s and was stopped", limit.as_secs_f32())]
    TimedOut { command: String, limit: Duration },
    #[error("`{command}` printed more than {} MiB and was stopped", MAX_OUTPUT / 1024 / 1024)]
    TooMuch { command: String },
    #[error("reading from `{command}` failed: {reason}")]
    Read { command: String, reason: String },
}

/// Runs a command with nothing on its standard input, in a process group of its own. The whole group is killed when the
/// time is up, so that no descendant lives on.
pub(crate) async fn run(prefix: &[String], arguments: &[&str], limit: Duration) -> Result<CommandOutput, CommandFault> {
    let name = || prefix.iter().map(String::as_str).chain(arguments.iter().copied()).collect::<Vec<_>>().join(" ");
    let start = |reason: String| CommandFault::Start { command: name(), reason };
    let Some((program, first)) = prefix.split_first() else { return Err(start("no command is configured".into())) };
    let mut child = Command::new(program)
        .args(first)
        .args(arguments)
        // The language and line width that the parsers expect, whatever the agent's own environment says.
        .envs([("LC_ALL", "C.UTF-8"), ("COLUMNS", "1000"), ("TERM", "dumb"), ("PAGER", "cat")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| start(error.to_string()))?;
    let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let work = async { tokio::try_join!(read(stdout), read(stderr), child.wait()) };
    match tokio::time::timeout(limit, work).await {
        Err(_) => Err(CommandFault::TimedOut { command: name(), limit }),
        Ok(Err(error)) if error.kind() == ErrorKind::FileTooLarge => Err(CommandFault::TooMuch { command: name() }),
        Ok(Err(error)) => Err(CommandFault::Read { command: name(), reason: error.to_string() }),
        Ok(Ok((stdout, stderr, status))) => {
            group.disarm();
            Ok(CommandOutput { status, stdout, stderr })
        }
    }
}

/// Runs a command and parses what it printed.
///
/// # Errors
/// Why there is no result, as text.
pub(crate) async fn ask<T>(
    prefix: &[String],
    arguments: &[&str],
    limit: Duration,
    read: fn(&str) -> Result<T, ParseFault>,
) -> Result<T, String> {
    match run(prefix, arguments, limit).await {
        Ok(output) if output.success() => read(&output.stdout).map_err(|fault| fault.to_string()),
        Ok(output) => Err(output.ending()),
        Err(fault) => Err(fault.to_string()),
    }
}

/// A process group that is killed unless its command ended by itself.
struct Group(Option<rustix::process::Pid>);

impl Group {
    /// The command ended: nothing is left to kill.
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended just now; then there is nothing to kill.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// All of a pipe as text, up to the limit.
async fn read(pipe: Option<impl tokio::io::AsyncRead + Unpin>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MAX_OUTPUT + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > MAX_OUTPUT {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(String::from).to_vec()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn output_and_exit_status_come_back() {
        let output = run(&shell("echo out; echo err >&2; exit 3"), &[], Duration::from_secs(5)).await.unwrap();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.ending(), "exit status: 3: out");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_prompt_gets_no_input() {
        let output = run(&shell("read answer || echo nobody"), &[], Duration::from_secs(5)).await.unwrap();
        assert_eq!(output.stdout, "nobody\n");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_children_of_a_slow_command_end_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("late");
        let script = format!("(sleep 1; touch {}) & sleep 60", file.display());
        let begun = Instant::now();
        let fault = run(&shell(&script), &[], Duration::from_millis(300)).await.unwrap_err();
        assert!(matches!(fault, CommandFault::TimedOut { .. }), "{fault}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(1200)).await;
        assert!(!file.exists(), "a child outlived its command");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_flood_is_stopped() {
        let fault = run(&shell("cat /dev/zero"), &[], Duration::from_secs(20)).await.unwrap_err();
        assert!(matches!(fault, CommandFault::TooMuch { .. }), "{fault}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_command_that_is_not_there_is_named() {
        let fault = run(&["/nonexistent/nv".into()], &["config"], Duration::from_secs(1)).await.unwrap_err();
        assert!(fault.to_string().starts_with("`/nonexistent/nv config` cannot be started"), "{fault}");
    }
}
