//! The DHCP server: its files, and the commands that check, reload and stop it. Only this room changes it.

use std::{
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::backup::DhcpBackup;
use crate::{
    Settings,
    config::{CommandPrefix, DhcpSection},
    hbn::run,
    render::Dhcp,
    state::remove,
};

/// The DHCP server that answers the host.
pub(crate) struct DhcpService<'a> {
    settings: &'a DhcpSection,
    limit: Duration,
}

/// Why the DHCP server does not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DhcpFault {
    #[error("cannot write {path} for the DHCP server: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("the DHCP server refused its configuration: {reason}")]
    Refused { reason: String },
    #[error("the DHCP server did not {verb}: {reason}")]
    Command { verb: &'static str, reason: String },
}

/// Whether the DHCP server's files are these.
pub(crate) fn on_disk(settings: &Settings, dhcp: &Dhcp) -> bool {
    !placed(&settings.dhcp.config_file, dhcp).iter().any(differs)
}

/// Each file with its path.
fn placed<'f>(config_file: &Path, dhcp: &'f Dhcp) -> Vec<(PathBuf, &'f str)> {
    let Some(files) = dhcp.files() else { return Vec::new() };
    let beside = files.beside.iter().map(|file| (config_file.with_file_name(file.name), file.text.as_str()));
    std::iter::once((config_file.to_owned(), files.config.as_str())).chain(beside).collect()
}

fn differs((path, text): &(PathBuf, &str)) -> bool {
    !types::read_file(path, crate::MAX_FILE_BYTES).is_ok_and(|old| old == text.as_bytes())
}

impl<'a> DhcpService<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        Self { settings: &settings.dhcp, limit: settings.hbn.command_timeout }
    }

    /// Lets the server check the file before anything changes.
    pub(crate) async fn check(&self, dhcp: &Dhcp) -> Result<(), DhcpFault> {
        let Some(files) = dhcp.files().filter(|_| !self.settings.check.is_empty()) else { return Ok(()) };
        let mut path = self.settings.config_file.clone().into_os_string();
        path.push(".new");
        let path = PathBuf::from(path);
        write_public(&path, &files.config)?;
        let output = run(&self.settings.check, &[&path.to_string_lossy()], self.limit).await;
        let removed = remove(&path);
        match output {
            Ok(output) if output.success() => removed.map_err(|source| DhcpFault::File { path, source }),
            Ok(output) => Err(DhcpFault::Refused { reason: output.ending() }),
            Err(fault) => Err(DhcpFault::Refused { reason: fault.to_string() }),
        }
    }

    /// The server's files as they are now: text, or none. `dhcp` says which files it has.
    pub(super) fn now(&self, dhcp: &Dhcp) -> Vec<(PathBuf, Option<String>)> {
        let read = |(path, _): (PathBuf, &str)| {
            let text = types::read_text(&path, crate::MAX_FILE_BYTES).ok();
            (path, text)
        };
        placed(&self.settings.config_file, dhcp).into_iter().map(read).collect()
    }

    /// Whether an [`install`](Self::install) or a [`stop`](Self::stop) changes any file.
    pub(super) fn differs(&self, dhcp: &Dhcp) -> bool {
        placed(&self.settings.config_file, dhcp).iter().any(differs)
    }

    /// Gives the server its files and has it read them.
    pub(crate) async fn install(&self, dhcp: &Dhcp) -> Result<(), DhcpFault> {
        self.write(dhcp)?;
        self.reload().await
    }

    /// Has the server read its files, and look up its interfaces again.
    pub(crate) async fn reload(&self) -> Result<(), DhcpFault> {
        self.command(&self.settings.reload, "read its configuration").await
    }

    /// Stops the server and leaves files that hold no address.
    pub(crate) async fn stop(&self, dhcp: &Dhcp) -> Result<(), DhcpFault> {
        if dhcp.files().is_none() {
            return Ok(());
        }
        self.write(dhcp)?;
        // Without a stop command, the server reads a file without addresses, which is as good as stopped.
        let stop = if self.settings.stop.is_empty() { &self.settings.reload } else { &self.settings.stop };
        self.command(stop, "stop").await
    }

    /// Reloads or stops the server again with the same files.
    pub(super) async fn repeat(&self, dhcp: &Dhcp) -> Result<(), DhcpFault> {
        match dhcp {
            Dhcp::Serve(_) => self.reload().await,
            Dhcp::Stop(_) => self.stop(dhcp).await,
            Dhcp::Unmanaged => Ok(()),
        }
    }

    /// Restores files and has the server read them; where there were none, or it did not run, it is stopped.
    pub(crate) async fn restore(&self, backup: DhcpBackup) -> Result<(), DhcpFault> {
        let stopped = backup.stopped || backup.files.iter().all(|(_, text)| text.is_none());
        for (path, text) in backup.files {
            match text {
                Some(text) if !differs(&(path.clone(), &text)) => (),
                Some(text) => write_public(&path, &text)?,
                None => remove(&path).map_err(|source| DhcpFault::File { path, source })?,
            }
        }
        if stopped && !self.settings.stop.is_empty() {
            return self.command(&self.settings.stop, "stop").await;
        }
        self.command(&self.settings.reload, "read its former configuration").await
    }

    fn write(&self, dhcp: &Dhcp) -> Result<(), DhcpFault> {
        let placed = placed(&self.settings.config_file, dhcp);
        placed.into_iter().filter(differs).try_for_each(|(path, text)| write_public(&path, text))
    }

    async fn command(&self, command: &CommandPrefix, verb: &'static str) -> Result<(), DhcpFault> {
        if command.is_empty() {
            return Ok(());
        }
        match run(command, &[], self.limit).await {
            Ok(output) if output.success() => Ok(()),
            Ok(output) => Err(DhcpFault::Command { verb, reason: output.ending() }),
            Err(fault) => Err(DhcpFault::Command { verb, reason: fault.to_string() }),
        }
    }
}

/// Replaces a file as a whole; the server, which runs as another user, may read it.
fn write_public(path: &Path, text: &str) -> Result<(), DhcpFault> {
    let write = || {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut options = atomic_write_file::OpenOptions::new();
        options.mode(0o644);
        let mut file = options.open(path)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.commit()
    };
    write().map_err(|source| DhcpFault::File { path: path.to_owned(), source })
}
