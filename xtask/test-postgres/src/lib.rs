//! Starts Postgres for tests and measurements: a cluster in a temporary directory, on a free port of the loopback
//! address and on a Unix socket.
//!
//! The programs are those of Debian's package `postgresql`, or of the folder in `POSTGRES_BIN`. Without them, tests are
//! skipped with a message, or fail if `INTERLINGUA_REQUIRE_POSTGRES` is set, as in `.ci/run`.
//!
//! Postgres refuses to run as root. A test that runs as root starts it as the user `postgres`, or `nobody`.
//!
//! A cluster ends with the process that started it, even if that is killed: a guard process waits for the end of a pipe,
//! stops Postgres and removes the directory.

mod guard;
mod programs;
mod proxy;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use guard::Guard;
pub use programs::Programs;
pub use proxy::{Direction, Proxy};

/// Name of the superuser.
pub const SUPERUSER: &str = "interlingua";
/// How long Postgres may take to start or to stop.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Settings of every cluster. A crash of the processes loses nothing without `fsync`; a crash of the machine would.
const SETTINGS: [(&str, &str); 7] = [
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("max_connections", "400"),
    ("shared_buffers", "64MB"),
    ("listen_addresses", "127.0.0.1"),
    ("log_min_messages", "warning"),
    ("autovacuum_naptime", "10s"),
];

/// Postgres in a temporary directory. It is stopped when the value is dropped, or the process ends.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    folder: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    /// Size in MiB of the disk that tables are on, if it is small.
    small_disk: Option<u32>,
    postmaster: Option<Child>,
    _guard: Guard,
}

/// The cluster that the tests of a process share, started on first use. `None` if Postgres is not installed.
#[must_use]
pub fn shared() -> Option<&'static Cluster> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    SHARED.get_or_init(|| Cluster::start(&[])).as_ref()
}

/// A URL for a schema of its own in the cluster that the tests of a process share. `None` if Postgres is not installed.
#[must_use]
pub fn shared_url() -> Option<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Some(shared()?.schema_url(&format!("t{}_{number}", std::process::id())))
}

/// Whether Postgres is installed. Otherwise a message says so.
///
/// # Panics
///
/// If Postgres is not installed although it is [required](is_required).
#[must_use]
pub fn is_available() -> bool {
    find_programs().is_some()
}

/// Whether tests that lack Postgres, or what else they need of the system, fail instead of being skipped:
/// `INTERLINGUA_REQUIRE_POSTGRES` is set, as in `.ci/run`.
#[must_use]
pub fn is_required() -> bool {
    std::env::var_os("INTERLINGUA_REQUIRE_POSTGRES").is_some()
}

fn find_programs() -> Option<Programs> {
    let programs = Programs::find();
    if programs.is_none() {
        assert!(!is_required(), "Postgres is not installed: run `apt-get install postgresql`");
        eprintln!("skipped: Postgres is not installed (`apt-get install postgresql`)");
    }
    programs
}

impl Cluster {
    /// Starts a cluster with further settings. `None` if Postgres is not installed.
    ///
    /// # Panics
    ///
    /// If Postgres does not start, or is not installed although it is [required](is_required).
    #[must_use]
    pub fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let programs = find_programs()?;
        let cluster = Self::create(programs, settings, None);
        Some(cluster.unwrap_or_else(|error| panic!("cannot start Postgres: {error}")))
    }

    /// Starts a cluster whose tables are on a disk of this size. `None` if Postgres is not installed, or this process may
    /// not mount a disk.
    ///
    /// # Panics
    ///
    /// If Postgres does not start, or is not installed although it is [required](is_required).
    #[must_use]
    pub fn start_with_small_disk(mebibytes: u32) -> Option<Self> {
        let programs = find_programs()?;
        let mut mount = Command::new("unshare");
        mount.args(["--mount", "sh", "-c", "mount -t tmpfs none /mnt"]).stderr(Stdio::null());
        if !programs.is_root() || !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: this system does not allow this process to mount a disk");
            return None;
        }
        let cluster = Self::create(programs, &[("default_tablespace", "small")], Some(mebibytes));
        let cluster = cluster.unwrap_or_else(|error| panic!("cannot start Postgres: {error}"));
        cluster.run_sql(&format!("CREATE TABLESPACE small LOCATION '{}'", cluster.small_disk_folder().display()));
        Some(cluster)
    }

    /// Where the small disk is mounted, for Postgres only.
    fn small_disk_folder(&self) -> PathBuf {
        self.folder.join("small")
    }

    fn create(programs: Programs, settings: &[(&str, &str)], small_disk: Option<u32>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("interlingua-postgres-").tempdir()?.keep();
        programs.give_folder(&folder)?;
        let guard = Guard::start(&folder)?;
        let initialized = programs
            .command("initdb")
            .args([
                "--username",
                SUPERUSER,
                "--auth",
                "trust",
                "--encoding",
                "UTF8",
                "--locale",
                "C",
                "--no-sync",
                "-D",
            ])
            .arg(folder.join("data"))
            .output()?;
        if !initialized.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&initialized.stderr).into_owned()));
        }
        let all = SETTINGS.iter().chain(settings).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = all.collect();
        let port = free_port()?;
        let mut cluster = Self { programs, folder, port, settings, small_disk, postmaster: None, _guard: guard };
        cluster.start_postmaster()?;
        Ok(cluster)
    }

    /// Starts Postgres again after [`kill`](Self::kill) or [`stop`](Self::stop).
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.start_postmaster().unwrap_or_else(|error| panic!("cannot start Postgres: {error}"));
    }

    /// Changes a setting, from the next start on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    fn start_postmaster(&mut self) -> io::Result<()> {
        let mut command = match self.small_disk {
            None => self.programs.command("postgres"),
            Some(mebibytes) => {
                let folder = self.small_disk_folder();
                fs::create_dir_all(&folder)?;
                let owner = self.programs.mount_options();
                let script = format!("mount -t tmpfs -o size={mebibytes}m{owner} none \"$1\" && shift && exec \"$@\"");
                let words = ["unshare", "--mount", "sh", "-c", &script, "sh"].map(OsStr::new);
                let words: Vec<&OsStr> = words.into_iter().chain([folder.as_os_str()]).collect();
                self.programs.command_after(&words, "postgres")
            }
        };
        command.arg("-D").arg(self.data_folder()).args(["-p", &self.port.to_string(), "-k"]).arg(&self.folder);
        for (name, value) in &self.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_file())?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.postmaster = Some(command.spawn()?);
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if self.is_ready()? {
                return Ok(());
            }
            let has_ended = self.postmaster.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if has_ended || Instant::now() >= deadline {
                let log = fs::read_to_string(self.log_file()).unwrap_or_default();
                return Err(io::Error::other(format!("Postgres did not start: {log}")));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Whether connections are accepted.
    fn is_ready(&self) -> io::Result<bool> {
        let mut command = self.programs.command("pg_isready");
        command.args(["-q", "-h"]).arg(&self.folder).args(["-p", &self.port.to_string()]);
        Ok(command.status()?.success())
    }

    /// Kills all processes of Postgres at once, as a crash does.
    ///
    /// # Panics
    ///
    /// If they cannot be killed.
    pub fn kill(&mut self) {
        let Some(mut postmaster) = self.postmaster.take() else { return };
        // The children of a killed postmaster end by themselves, but only when they notice.
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", postmaster.id())).unwrap_or_default();
        send_signal("KILL", &[postmaster.id().to_string()]);
        send_signal("KILL", &children.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        postmaster.wait().expect("the postmaster can be waited for");
    }

    /// Stops Postgres in order; connections are closed.
    ///
    /// # Panics
    ///
    /// If it cannot be stopped.
    pub fn stop(&mut self) {
        let Some(mut postmaster) = self.postmaster.take() else { return };
        send_signal("INT", &[postmaster.id().to_string()]);
        postmaster.wait().expect("the postmaster can be waited for");
    }

    /// Runs SQL as the superuser, and returns what `psql` prints.
    ///
    /// # Panics
    ///
    /// If the SQL fails.
    #[expect(clippy::must_use_candidate, reason = "most statements print nothing")]
    pub fn run_sql(&self, sql: &str) -> String {
        let mut command = self.programs.command("psql");
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", SUPERUSER, "-d", "postgres", "-h"]);
        command.arg(&self.folder).args(["-p", &self.port.to_string(), "-c", sql]);
        let output = command.output().expect("psql can be started");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// URL of a schema, over the Unix socket.
    #[must_use]
    pub fn schema_url(&self, schema: &str) -> String {
        let folder = self.folder.display();
        format!("postgres:///postgres?host={folder}&port={}&user={SUPERUSER}&schema={schema}", self.port)
    }

    /// Port on the loopback address.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Folder of the Unix socket and the log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folder of the data.
    #[must_use]
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The programs of Postgres.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
        // The guard does it too, if this fails.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Sends a signal to processes. Some may be gone.
fn send_signal(signal: &str, processes: &[String]) {
    if !processes.is_empty() {
        let mut kill = Command::new("kill");
        kill.arg(format!("-{signal}")).args(processes).stderr(Stdio::null());
        let _ = kill.status();
    }
}
