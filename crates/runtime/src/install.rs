//! Where agents are: in our data folder, where `interlingua agents install` puts them, or on the `PATH`.
//!
//! ```text
//! <data>/agents/claude/2.1.325/node_modules/.bin/claude
//!                      current ─▶ 2.1.325
//! ```
//!
//! An installed version is whole or not there, stays as it is (agents are told not to update themselves), and is found
//! under its number. The one that was installed last is `current`, and what sessions get that ask for no other. Without
//! one, it is the program on the `PATH`, whose version is whatever it is.

mod npm;
mod package;

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use interlingua_agents::Agent;
use interlingua_convert::Input;
use semver::Version;
use serde::Deserialize;
use tokio::time::timeout;

use crate::agents::{AgentStatus, InstallOptions};
use crate::driver::{ServeError, SessionSpec};
use crate::environment::Environment;
use crate::error::{Refusal, RuntimeError};
use crate::process::{Program, Supervisor};
use crate::variables::variables;
use package::{described_version, fit, install_command};

/// What the version that was installed last is called.
const CURRENT: &str = "current";
/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// What agents need of the machine they run on.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    supervisor: Supervisor,
    data: PathBuf,
    path: Option<OsString>,
}

impl LaunchConfig {
    /// A machine whose agents are started by this supervisor, installed below this folder, and looked for on the `PATH`
    /// of this process.
    pub fn new(supervisor: Supervisor, data: impl Into<PathBuf>) -> Self {
        Self { supervisor, data: data.into(), path: std::env::var_os("PATH") }
    }

    /// Looks for agents that are not installed on another `PATH`.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// What starts agents.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }
}

/// Installs an agent on a machine, and tells now and then how many bytes have come.
///
/// # Errors
/// If there is no such agent, or it cannot be installed.
pub async fn install(
    machine: &LaunchConfig,
    agent: &str,
    install: InstallOptions,
    progress: impl FnMut(u64) + Send,
) -> Result<AgentStatus, RuntimeError> {
    let agent = Agent::from_id(agent).ok_or_else(|| {
        let known = Agent::ALL.map(Agent::id).to_vec();
        RuntimeError::UnsupportedAgent { agent: agent.to_owned(), known }
    })?;
    let installation = Installation::new(agent, machine);
    match installation.install(install, progress).await {
        Ok(_) => Ok(installation.status()),
        Err(reason) => Err(RuntimeError::InstallFailed { agent: agent.id(), reason }),
    }
}

/// An agent on this machine: whether it is there, and how to get it.
#[derive(Debug)]
pub(crate) struct Installation {
    agent: Agent,
    /// The version that our types were made for.
    pinned_version: Option<String>,
    machine: LaunchConfig,
    /// What programs on the `PATH` said of their versions, and when they were made.
    asked: Mutex<HashMap<PathBuf, (SystemTime, Option<String>)>>,
    /// Held by whoever installs.
    installing: tokio::sync::Mutex<()>,
}

/// A program that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The program.
    pub(crate) path: PathBuf,
    /// Its version, if known.
    pub(crate) version: Option<String>,
}

impl Found {
    /// The version, if it is known and a semantic version.
    pub(crate) fn semver(&self) -> Option<Version> {
        self.version.as_deref().and_then(|version| Version::parse(version).ok())
    }
}

impl Installation {
    pub(crate) fn new(agent: Agent, machine: &LaunchConfig) -> Self {
        Self {
            agent,
            pinned_version: described_version(agent),
            machine: machine.clone(),
            asked: Mutex::default(),
            installing: tokio::sync::Mutex::default(),
        }
    }

    /// What starts it.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        self.machine.supervisor()
    }

    /// The program that a session gets that asks for no version.
    pub(crate) fn found(&self) -> Option<Found> {
        let current = std::fs::read_link(self.folder().join(CURRENT)).ok();
        let version = current.as_deref().and_then(Path::to_str);
        version.and_then(|version| self.installed(version)).or_else(|| self.on_path())
    }

    /// The program of a version, if that was installed.
    fn installed(&self, version: &str) -> Option<Found> {
        let path = self.program_in(&self.folder().join(version));
        (is_version(version) && is_program(&path)).then(|| Found { path, version: Some(version.to_owned()) })
    }

    fn on_path(&self) -> Option<Found> {
        let folders = std::env::split_paths(self.machine.path.as_ref()?);
        let path = folders.map(|folder| folder.join(self.agent.descriptor().program)).find(|path| is_program(path))?;
        let version = self.known_version(&path);
        Some(Found { path, version })
    }

    /// The program for a session.
    pub(crate) fn program(&self, version: Option<&str>) -> Result<Found, ServeError> {
        let found = match version {
            None => self.found(),
            Some(version) => self.of_version(version),
        };
        found.ok_or_else(|| ServeError::NotInstalled {
            agent: self.agent.id(),
            command: install_command(self.agent, version),
        })
    }

    fn of_version(&self, version: &str) -> Option<Found> {
        self.installed(version).or_else(|| self.on_path().filter(|found| found.version.as_deref() == Some(version)))
    }

    /// Refuses a session that asks for a version which is not there.
    pub(crate) fn check_version(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        match spec.agent_version.as_deref() {
            Some(version) if self.of_version(version).is_none() => {
                let (agent, command) = (self.agent.id(), install_command(self.agent, Some(version)));
                let detail = format!("{agent} {version} is not installed: `{command}` installs it");
                Err(Refusal::field("agentVersion", detail))
            }
            _ => Ok(()),
        }
    }

    /// What is known of the agent. Starts nothing.
    pub(crate) fn status(&self) -> AgentStatus {
        let found = self.found();
        let version = found.as_ref().and_then(|found| found.version.clone());
        AgentStatus {
            id: self.agent.id(),
            installed: found.is_some(),
            version_fit: version
                .as_deref()
                .zip(self.pinned_version.as_deref())
                .map(|(version, pinned_version)| fit(version, pinned_version)),
            pinned_version: self.pinned_version.clone(),
            version,
            path: found.map(|found| found.path),
            credentials: self.credentials(),
            ..AgentStatus::default()
        }
    }

    /// The names of the credentials there are.
    fn credentials(&self) -> Vec<String> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let keys = self.agent.descriptor().credential_variables.iter().copied().filter(is_set);
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let logins = self.agent.descriptor().login_files.iter().filter(|login| home.join(login.path).is_file());
        keys.chain(logins.map(|login| login.command)).map(str::to_owned).collect()
    }

    /// Asks the program on the `PATH` for its version, if it is the one that is used and nobody did yet.
    pub(crate) async fn refresh_status(&self) {
        let Some(Found { path, version: None }) = self.found() else { return };
        let Some(made) = made(&path) else { return };
        if self.asked().get(&path).is_some_and(|(asked, _)| *asked == made) {
            return;
        }
        let version = self.says(&path, "--version", bare()).await.and_then(|said| version_in(&said));
        self.asked().insert(path, (made, version));
    }

    /// What the program prints when it is given this one argument and nothing else; `None` if it does not come to an
    /// end, or to a bad one.
    pub(crate) async fn says(&self, program: &Path, argument: &str, env: Vec<(OsString, OsString)>) -> Option<String> {
        let program =
            Program { path: program.to_owned(), args: vec![argument.to_owned()], env, directory: std::env::temp_dir() };
        let mut process = self.supervisor().start(program).await.ok()?;
        process.close_input();
        timeout(PATIENCE, async {
            let mut said = String::new();
            loop {
                match process.next().await {
                    Input::Received(line) => said.extend([line.as_str(), "\n"]),
                    Input::Exit { code: Some(0) } => return Some(said),
                    Input::Exit { .. } => return None,
                    _ => {}
                }
            }
        })
        .await
        .ok()
        .flatten()
    }

    /// The version of a program on the `PATH`: what npm wrote beside it, or what it said when it was asked.
    fn known_version(&self, program: &Path) -> Option<String> {
        let asked = || {
            let asked = self.asked();
            let (when, version) = asked.get(program)?;
            (Some(*when) == made(program)).then(|| version.clone()).flatten()
        };
        self.packaged_version(program).or_else(asked)
    }

    fn packaged_version(&self, program: &Path) -> Option<String> {
        let real = program.canonicalize().ok()?;
        let modules = real.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "node_modules"))?;
        version_of_package(&modules.join(self.agent.descriptor().npm_package))
    }

    /// Installs the agent, and tells how many bytes have come.
    pub(crate) async fn install(
        &self,
        install: InstallOptions,
        progress: impl FnMut(u64) + Send,
    ) -> Result<Found, String> {
        let _alone = self.installing.lock().await;
        let wanted = match install.version.or_else(|| self.pinned_version.clone()) {
            Some(version) if is_version(&version) => version,
            Some(version) => return Err(format!("expected a version such as 1.2.3, found {version:?}")),
            None => return Err("no version was given, and none is known".to_owned()),
        };
        if !install.reinstall
            && let Some(found) = self.installed(&wanted)
        {
            self.make_current(&wanted)?;
            return Ok(found);
        }
        let fresh = Fresh::make(&self.folder())?;
        let spec = format!("{}@{wanted}", self.agent.descriptor().npm_package);
        npm::install(self.supervisor(), &fresh.0, &spec, progress).await?;
        let version = version_of_package(&fresh.0.join("node_modules").join(self.agent.descriptor().npm_package))
            .filter(|version| is_version(version))
            .ok_or_else(|| format!("npm installed {spec}, but there is no package in it"))?;
        let program = self.program_in(&fresh.0);
        if !is_program(&program) || self.says(&program, "--version", bare()).await.is_none() {
            return Err(format!("npm installed {spec}, but its program does not run on this machine"));
        }
        fresh.become_folder(&self.folder().join(&version))?;
        self.make_current(&version)?;
        self.installed(&version).ok_or_else(|| format!("{spec} was installed and is gone again"))
    }

    fn make_current(&self, version: &str) -> Result<(), String> {
        let link = self.folder().join(format!(".current-{}", std::process::id()));
        // One may be left over from a process that died.
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(version, &link)
            .and_then(|()| std::fs::rename(&link, self.folder().join(CURRENT)))
            .map_err(|error| format!("cannot write to {}: {error}", self.folder().display()))
    }

    /// Where its versions are.
    fn folder(&self) -> PathBuf {
        self.machine.data.join("agents").join(self.agent.id())
    }

    fn program_in(&self, folder: &Path) -> PathBuf {
        folder.join("node_modules/.bin").join(self.agent.descriptor().program)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<PathBuf, (SystemTime, Option<String>)>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder that something is installed into, gone again unless it [becomes](Fresh::become_folder) the folder of a
/// version.
struct Fresh(PathBuf);

impl Fresh {
    fn make(parent: &Path) -> Result<Self, String> {
        let folder = parent.join(format!(".fresh-{}", std::process::id()));
        // One may be left over from a process that died.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    /// Takes the place of the folder, all at once.
    fn become_folder(self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
        let old = self.0.with_extension("old");
        // What is replaced may be in use, which does no harm: its files stay for those who have them open.
        let had_old = folder.exists();
        if had_old {
            let _ = std::fs::remove_dir_all(&old);
            std::fs::rename(folder, &old).map_err(failed)?;
        }
        std::fs::rename(&self.0, folder).map_err(failed)?;
        if had_old && let Err(error) = std::fs::remove_dir_all(&old) {
            tracing::warn!("{} cannot be removed: {error}", old.display());
        }
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // It is not there any more if it became something.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An environment without anybody's keys.
fn bare() -> Vec<(OsString, OsString)> {
    variables(&[], &[], &Environment::default())
}

/// Whether this can be a version, or a tag such as `latest`, and not a path or an address.
fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-+".contains(letter))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn made(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

fn version_of_package(folder: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let text = std::fs::read(folder.join("package.json")).ok()?;
    serde_json::from_slice::<Package>(&text).ok().map(|package| package.version)
}

/// The first word that looks like a version.
fn version_in(said: &str) -> Option<String> {
    let looks_like_one = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    said.split_whitespace().find(looks_like_one).map(str::to_owned)
}
