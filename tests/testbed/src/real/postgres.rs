//! A real PostgreSQL server for one test, or for all tests of a run by the program `with-postgres`.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tempfile::TempDir;

use super::{must_run, parts, started};
use crate::{Process, block_until};

/// A PostgreSQL server of a test's own, on a loopback port, in a directory that goes away with it.
#[derive(Debug)]
pub struct Postgres {
    server: Option<Process>,
    port: u16,
    databases: AtomicU32,
    directory: TempDir,
}

/// Environment variable with the URL of a PostgreSQL server without a database, for example
/// `postgres://postgres@127.0.0.1:5432`: tests that know it make databases there instead of starting a server.
pub const SITE_TEST_POSTGRES: &str = "SITE_TEST_POSTGRES";

impl Postgres {
    /// Makes a cluster and starts its server; durable only as long as the test runs.
    ///
    /// # Panics
    /// If it does not come up.
    #[must_use]
    pub fn start() -> Self {
        let directory =
            tempfile::Builder::new().prefix("real-postgres").tempdir_in("/tmp").expect("a directory in /tmp");
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("permissions");
        let data = directory.path().join("data");
        std::fs::create_dir(&data).expect("a directory");
        if root() {
            run(Command::new("chown").args(["postgres:postgres"]).arg(&data).arg(directory.path()));
        }
        let data_text = data.display().to_string();
        run(&mut as_postgres(&program("initdb"), &["-D", &data_text, "-U", "postgres", "-A", "trust", "--no-sync"]));
        // Nobody else asks for this port between here and the server's start, as far as one can tell.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let mut server = Self { server: None, port: free.port(), databases: AtomicU32::new(0), directory };
        server.resume();
        server
    }

    /// Starts the server again after [`Postgres::pause`].
    ///
    /// # Panics
    /// If it does not come up.
    pub fn resume(&mut self) {
        let data = self.directory.path().join("data").display().to_string();
        let port = self.port.to_string();
        let mut command = as_postgres(&program("postgres"), &["-D", &data, "-p", &port]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "synchronous_commit=off",
            "full_page_writes=off",
        ] {
            command.args(["-c", setting]);
        }
        let mut server = started(Process::new("postgres", command, self.directory.path().join("log")));
        let mut is_ready = Command::new(program("pg_isready"));
        is_ready.args(["-q", "-h", "127.0.0.1", "-p", &port]).stdout(Stdio::null());
        block_until("PostgreSQL takes connections", Duration::from_secs(30), || {
            must_run(&mut server);
            let ready = is_ready.status().is_ok_and(|status| status.success());
            if ready { Ok(()) } else { Err(server.log()) }
        });
        self.server = Some(server);
    }

    /// Stops the server and drops its connections; what is committed stays.
    pub fn pause(&mut self) {
        if let Some(mut server) = self.server.take() {
            // Fast shutdown: the polite one waits for clients, and a killed server leaves shared memory behind. One that
            // has ended already hears nothing.
            let _ = server.signal("INT");
            server.block_stop();
        }
    }

    /// URL of the server without a database, as `SITE_TEST_POSTGRES` takes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    /// URL of a new, empty database.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new_database(&self) -> String {
        let name = format!("site_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        format!("{}/{name}", self.url())
    }

    /// Runs a statement; the answer is its rows, a line each, columns separated by `|`.
    ///
    /// # Panics
    /// If the server refuses it.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let port = self.port.to_string();
        let mut command = Command::new(program("psql"));
        command.args(["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", database]);
        run(command.args(["-v", "ON_ERROR_STOP=1", "-c", statement]))
    }

    /// Where the server keeps its files.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.pause();
    }
}

fn program(name: &str) -> PathBuf {
    parts::postgres_program(name).unwrap_or_else(|| PathBuf::from(name))
}

fn root() -> bool {
    let id = Command::new("id").arg("-u").output().map(|done| done.stdout).unwrap_or_default();
    id.starts_with(b"0")
}

/// PostgreSQL refuses to run as root.
fn as_postgres(program: &Path, arguments: &[&str]) -> Command {
    let mut command = if root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(arguments).current_dir("/");
    command
}

fn run(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}\n{said}", done.status);
    String::from_utf8_lossy(&done.stdout).into_owned()
}
