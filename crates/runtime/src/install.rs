//! Finds and installs agents: in our data folder, where `interlingua agents install` puts them, or on the `PATH`.
//!
//! ```text
//! <data>/agents/claude/2.1.325/node_modules/.bin/claude
//!                      current ─▶ 2.1.325
//! ```
//!
//! A version is installed completely or not at all, does not change (agents are told not to update themselves), and is
//! found by its number. `current` points to the version that was installed last. Sessions that ask for no version use it.
//! Without `current`, they use the program on the `PATH`, whatever its version is.

mod npm;
mod package;
mod staging;
mod version;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use interlingua_agents::{AcpProfile, Agent, Descriptor};
use interlingua_convert::Input;
use semver::{Version, VersionReq};
use tokio::time::timeout;

use crate::agents::{AgentStatus, InstallOptions};
use crate::driver::{ServeError, SessionSpec};
use crate::environment::Environment;
use crate::error::{Refusal, RuntimeError};
use crate::process::{Program, Supervisor};
use crate::process_environment::process_environment;
use npm::{Npm, NpmError};
use package::InstalledPackage;
use staging::StagingFolder;
use version::{compare_to_pinned, install_command, pinned_version};

/// Name of the link to the version that was installed last.
const CURRENT: &str = "current";
/// How long a program may take to print its version or help.
const CAPTURE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where agents are installed, and how they are started.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    supervisor: Supervisor,
    data_folder: PathBuf,
    path: Option<OsString>,
    acp_agents: Vec<&'static AcpProfile>,
}

impl LaunchConfig {
    /// Agents are started by this supervisor, installed below this folder, and otherwise found on the `PATH` of this
    /// process.
    pub fn new(supervisor: Supervisor, data_folder: impl Into<PathBuf>) -> Self {
        Self { supervisor, data_folder: data_folder.into(), path: std::env::var_os("PATH"), acp_agents: Vec::new() }
    }

    /// Adds agents of the user that speak the Agent Client Protocol, beside the [known ones](AcpProfile::ALL).
    #[must_use]
    pub fn acp_agents(mut self, agents: Vec<&'static AcpProfile>) -> Self {
        self.acp_agents = agents;
        self
    }

    /// All agents that speak the Agent Client Protocol. One of the user replaces a known one of the same name.
    pub(crate) fn acp_profiles(&self) -> impl Iterator<Item = &'static AcpProfile> {
        let is_replaced = |id: &str| self.acp_agents.iter().any(|own| own.descriptor.id == id);
        let known = AcpProfile::ALL.iter().copied().filter(move |known| !is_replaced(known.descriptor.id));
        known.chain(self.acp_agents.iter().copied())
    }

    /// Sets another `PATH` on which agents are found that are not installed.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The supervisor that starts agents.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Folder for files that are needed only while agents run.
    pub(crate) fn runtime_folder(&self) -> PathBuf {
        self.data_folder.join("run")
    }
}

/// Installs an agent, and calls `progress` at intervals with the number of bytes on disk.
///
/// # Errors
/// If there is no such agent, or it cannot be installed.
pub async fn install(
    config: &LaunchConfig,
    agent: &str,
    options: InstallOptions,
    progress: impl FnMut(u64) + Send,
) -> Result<AgentStatus, RuntimeError> {
    let installation = Installation::find(agent, config).ok_or_else(|| {
        let native = Agent::ALL.into_iter().filter(|agent| *agent != Agent::Acp).map(Agent::id);
        let known = native.chain(AcpProfile::ALL.iter().map(|profile| profile.descriptor.id)).collect();
        RuntimeError::UnsupportedAgent { agent: agent.to_owned(), known }
    })?;
    check_version(options.version.as_deref())?;
    match installation.install(options, progress).await {
        Ok(_) => Ok(installation.status()),
        Err(reason) => Err(RuntimeError::InstallFailed { agent: installation.agent.id, reason }),
    }
}

/// The installed versions of an agent on this machine.
#[derive(Debug)]
pub(crate) struct Installation {
    agent: &'static Descriptor,
    /// How to install an agent that is not an npm package.
    install_hint: Option<&'static str>,
    /// The version that our types were generated for.
    pinned_version: Option<String>,
    config: LaunchConfig,
    /// The versions that programs on the `PATH` printed, with the modification times of the programs.
    printed_versions: Mutex<HashMap<PathBuf, (SystemTime, Option<String>)>>,
    /// Held during an installation.
    install_lock: tokio::sync::Mutex<()>,
}

/// A program of an agent on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstalledProgram {
    /// Path of the program.
    pub(crate) path: PathBuf,
    /// The version, if known.
    pub(crate) version: Option<String>,
}

impl InstalledProgram {
    /// The version, if it is known and a semantic version.
    pub(crate) fn semver(&self) -> Option<Version> {
        self.version.as_deref().and_then(|version| Version::parse(version).ok())
    }
}

impl Installation {
    pub(crate) fn new(agent: Agent, config: &LaunchConfig) -> Self {
        Self::with(agent.descriptor(), pinned_version(agent), None, config)
    }

    /// The installation of an agent that speaks the Agent Client Protocol.
    pub(crate) fn of_profile(profile: &'static AcpProfile, config: &LaunchConfig) -> Self {
        let version = profile.measured_version.map(str::to_owned);
        Self::with(&profile.descriptor, version, profile.install_hint, config)
    }

    /// The installation of the agent with this name in the API.
    fn find(id: &str, config: &LaunchConfig) -> Option<Self> {
        match Agent::from_id(id).filter(|agent| *agent != Agent::Acp) {
            Some(agent) => Some(Self::new(agent, config)),
            None => AcpProfile::from_id(id).map(|profile| Self::of_profile(profile, config)),
        }
    }

    fn with(
        agent: &'static Descriptor,
        pinned_version: Option<String>,
        install_hint: Option<&'static str>,
        config: &LaunchConfig,
    ) -> Self {
        Self {
            agent,
            install_hint,
            pinned_version,
            config: config.clone(),
            printed_versions: Mutex::default(),
            install_lock: tokio::sync::Mutex::default(),
        }
    }

    /// The supervisor that starts the agent.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        self.config.supervisor()
    }

    /// Finds the program for a session that asks for no version.
    fn find_default(&self) -> Option<InstalledProgram> {
        let current = std::fs::read_link(self.folder().join(CURRENT)).ok();
        let version = current.as_deref().and_then(Path::to_str);
        version.and_then(|version| self.find_installed(version)).or_else(|| self.find_on_path())
    }

    /// Finds the program of a version in the data folder.
    fn find_installed(&self, version: &str) -> Option<InstalledProgram> {
        let path = self.program_path(&self.folder().join(version));
        (is_version(version) && is_program(&path)).then(|| InstalledProgram { path, version: Some(version.to_owned()) })
    }

    fn find_on_path(&self) -> Option<InstalledProgram> {
        let path = find_in_path(self.agent.program, self.config.path.as_deref())?;
        let version = self.known_version(&path);
        Some(InstalledProgram { path, version })
    }

    /// Finds the program for a session.
    pub(crate) fn find_program(&self, version: Option<&str>) -> Result<InstalledProgram, ServeError> {
        let program = match version {
            None => self.find_default(),
            Some(version) => self.find_version(version),
        };
        program.ok_or_else(|| match self.missing_package_remedy() {
            Some(remedy) => ServeError::Unavailable(format!("{} is not installed: {remedy}", self.agent.id)),
            None => ServeError::NotInstalled { agent: self.agent.id, command: install_command(self.agent.id, version) },
        })
    }

    /// What to do about an agent that is not an npm package, and so cannot be installed by this program.
    fn missing_package_remedy(&self) -> Option<String> {
        if self.agent.npm_package.is_some() {
            return None;
        }
        let default = || format!("there is no program `{}`", self.agent.program);
        Some(self.install_hint.map_or_else(default, str::to_owned))
    }

    fn find_version(&self, version: &str) -> Option<InstalledProgram> {
        let has_version = |program: &InstalledProgram| program.version.as_deref() == Some(version);
        self.find_installed(version).or_else(|| self.find_on_path().filter(has_version))
    }

    /// Refuses a session that asks for a version which is not installed.
    pub(crate) fn check_version(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        match spec.agent_version.as_deref() {
            Some(version) if self.find_version(version).is_none() => {
                let (agent, command) = (self.agent.id, install_command(self.agent.id, Some(version)));
                let detail = format!("{agent} {version} is not installed; run `{command}`");
                Err(Refusal::field("agentVersion", detail))
            }
            _ => Ok(()),
        }
    }

    /// What is known about the agent. Starts nothing.
    pub(crate) fn status(&self) -> AgentStatus {
        let program = self.find_default();
        let version = program.as_ref().and_then(|program| program.version.clone());
        let versions = version.as_deref().zip(self.pinned_version.as_deref());
        AgentStatus {
            id: self.agent.id,
            installed: program.is_some(),
            version_fit: versions.map(|(version, pinned)| compare_to_pinned(version, pinned)),
            pinned_version: self.pinned_version.clone(),
            version,
            path: program.map(|program| program.path),
            credentials: self.credentials(),
            ..AgentStatus::default()
        }
    }

    /// Names of the credentials that were found.
    fn credentials(&self) -> Vec<String> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let keys = self.agent.credential_variables.iter().copied().filter(is_set);
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let logins = self.agent.login_files.iter().filter(|login| home.join(login.path).is_file());
        keys.chain(logins.map(|login| login.command)).map(str::to_owned).collect()
    }

    /// Asks the default program for its version, if the version is not known yet.
    pub(crate) async fn refresh_version(&self) {
        let Some(InstalledProgram { path, version: None }) = self.find_default() else { return };
        let Some(modified) = modification_time(&path) else { return };
        if self.printed_versions().get(&path).is_some_and(|(known, _)| *known == modified) {
            return;
        }
        let printed = self.capture_output(&path, "--version", minimal_environment()).await;
        let version = printed.and_then(|text| find_version_in(&text));
        self.printed_versions().insert(path, (modified, version));
    }

    /// Runs the program with one argument and returns what it prints on standard output. `None` if it fails or does not
    /// exit in time.
    pub(crate) async fn capture_output(
        &self,
        program: &Path,
        argument: &str,
        env: Vec<(OsString, OsString)>,
    ) -> Option<String> {
        let program =
            Program { path: program.to_owned(), args: vec![argument.to_owned()], env, directory: std::env::temp_dir() };
        let mut process = self.supervisor().start(program).await.ok()?;
        process.close_stdin();
        timeout(CAPTURE_TIMEOUT, async {
            let mut text = String::new();
            loop {
                match process.next().await {
                    Input::Received(line) => text.extend([line.as_str(), "\n"]),
                    Input::Exit { code: Some(0) } => return Some(text),
                    Input::Exit { .. } => return None,
                    _ => {}
                }
            }
        })
        .await
        .ok()
        .flatten()
    }

    /// The version of a program on the `PATH`: from its npm package, or what it printed when it was asked.
    fn known_version(&self, program: &Path) -> Option<String> {
        let printed = || {
            let versions = self.printed_versions();
            let (modified, version) = versions.get(program)?;
            (Some(*modified) == modification_time(program)).then(|| version.clone()).flatten()
        };
        self.packaged_version(program).or_else(printed)
    }

    fn packaged_version(&self, program: &Path) -> Option<String> {
        let real = program.canonicalize().ok()?;
        let modules = real.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "node_modules"))?;
        self.package(modules)?.version()
    }

    /// The agent's package in a `node_modules` folder.
    fn package<'a>(&self, modules: &'a Path) -> Option<InstalledPackage<'a>> {
        InstalledPackage::find(modules, self.agent.npm_packages())
    }

    /// Installs the agent, and calls `progress` at intervals with the number of bytes on disk.
    pub(crate) async fn install(
        &self,
        options: InstallOptions,
        progress: impl FnMut(u64) + Send,
    ) -> Result<InstalledProgram, String> {
        if let Some(remedy) = self.missing_package_remedy() {
            return Err(format!("it is not an npm package: {remedy}"));
        }
        let _guard = self.install_lock.lock().await;
        let wanted = options
            .version
            .or_else(|| self.pinned_version.clone())
            .filter(|version| is_version(version))
            .ok_or("no version was given, and this program has no default for the agent")?;
        if !options.reinstall
            && let Some(program) = self.find_installed(&wanted)
        {
            self.make_current(&wanted)?;
            return Ok(program);
        }
        let npm = Npm::find(self.supervisor(), self.config.path.as_deref())?;
        let (package, version) = self.resolve(&npm, &wanted).await?;
        let spec = format!("{package}@{version}");
        let staging = StagingFolder::create(&self.folder())?;
        npm.install(staging.path(), &spec, progress).await?;
        self.verify(staging.path(), &spec).await?;
        staging.publish(&self.folder().join(&version))?;
        self.make_current(&version)?;
        self.find_installed(&version).ok_or_else(|| format!("{spec} was installed, but its program has disappeared"))
    }

    /// The package that has the wanted version, and the exact version. An agent may be published under several names.
    async fn resolve(&self, npm: &Npm<'_>, wanted: &str) -> Result<(&'static str, String), String> {
        let mut missing = Vec::new();
        for package in self.agent.npm_packages() {
            match npm.resolve(&format!("{package}@{wanted}")).await {
                Ok(version) if is_version(&version) => return Ok((package, version)),
                Ok(version) => {
                    return Err(format!("npm reported an invalid version {version:?} for {package}@{wanted}"));
                }
                Err(NpmError::NoSuchVersion(_)) => missing.push(format!("{package}@{wanted}")),
                Err(error) => return Err(error.into_message()),
            }
        }
        Err(format!("the npm registry has no {}", missing.join(" and no ")))
    }

    /// Checks that npm installed a program that runs on this machine.
    async fn verify(&self, folder: &Path, spec: &str) -> Result<(), String> {
        let program = self.program_path(folder);
        let package = folder.join("node_modules");
        let package = self.package(&package).ok_or_else(|| format!("npm installed {spec}, but not its package"))?;
        let is_native = package.native_program(self.agent.program).is_some();
        if !is_native && let Some(required) = package.node_requirement() {
            let found = match find_in_path("node", self.config.path.as_deref()) {
                Some(node) => self.capture_output(&node, "--version", minimal_environment()).await,
                None => None,
            };
            check_node(spec, &required, found.as_deref())?;
        }
        if is_program(&program) && self.capture_output(&program, "--version", minimal_environment()).await.is_some() {
            return Ok(());
        }
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        Err(format!("npm installed {spec}, but it has no program that runs on this machine ({os} {arch})"))
    }

    fn make_current(&self, version: &str) -> Result<(), String> {
        let link = self.folder().join(format!(".current-{}", std::process::id()));
        // A process that died may have left one.
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(version, &link)
            .and_then(|()| std::fs::rename(&link, self.folder().join(CURRENT)))
            .map_err(|error| format!("cannot write to {}: {error}", self.folder().display()))
    }

    /// The folder with the agent's versions.
    fn folder(&self) -> PathBuf {
        self.config.data_folder.join("agents").join(self.agent.id)
    }

    /// Path of the agent's program in the folder of a version.
    fn program_path(&self, version_folder: &Path) -> PathBuf {
        let (modules, program) = (version_folder.join("node_modules"), self.agent.program);
        let native = self.package(&modules).and_then(|package| package.native_program(program));
        native.unwrap_or_else(|| modules.join(".bin").join(program))
    }

    fn printed_versions(&self) -> MutexGuard<'_, HashMap<PathBuf, (SystemTime, Option<String>)>> {
        self.printed_versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An environment without any keys.
fn minimal_environment() -> Vec<(OsString, OsString)> {
    process_environment(&[], &[], &Environment::default())
}

/// Refuses a version that cannot be one. It becomes the name of a folder and an argument of npm.
pub(crate) fn check_version(version: Option<&str>) -> Result<(), RuntimeError> {
    match version.filter(|version| !is_version(version)) {
        Some(version) => {
            let detail = format!("expected a version such as 1.2.3, or a tag such as latest, found {version:?}");
            Err(RuntimeError::field("version", detail))
        }
        None => Ok(()),
    }
}

/// Whether this can be a version, or a tag such as `latest`, and not a path or an address.
fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-+".contains(letter))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn modification_time(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Finds a program on a `PATH`.
fn find_in_path(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|folder| folder.join(program)).find(|path| is_program(path))
}

/// Checks that the Node.js of this machine, of which `printed` is the version, is one that a package can use. A
/// requirement that cannot be parsed is not checked.
fn check_node(spec: &str, required: &str, printed: Option<&str>) -> Result<(), String> {
    let remedy = format!("{spec} needs Node.js {required}");
    let Some(found) = printed.map(|text| text.trim().trim_start_matches('v')) else {
        return Err(format!("{remedy}, but there is no node on the PATH: install it"));
    };
    let Ok(version) = Version::parse(found) else { return Ok(()) };
    let ranges =
        required.split("||").map(|range| VersionReq::parse(&range.split_whitespace().collect::<Vec<_>>().join(",")));
    let Ok(ranges) = ranges.collect::<Result<Vec<_>, _>>() else { return Ok(()) };
    if ranges.iter().any(|range| range.matches(&version)) {
        return Ok(());
    }
    Err(format!("{remedy}, but node on the PATH has version {found}: install a matching one, or an older agent"))
}

/// The first word that looks like a version.
fn find_version_in(text: &str) -> Option<String> {
    let looks_like_version = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    text.split_whitespace().find(looks_like_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_the_package_does_not_support_is_reported_with_both_versions() {
        for required in [">=22.0.0", ">=16 <18", "^18.2 || >=22"] {
            let error = check_node("a@1", required, Some("v20.20.2\n")).unwrap_err();
            assert!(error.contains(required) && error.contains("20.20.2"), "{error}");
        }
        for required in [">=16", ">=20.1.0 <21", "^18.2 || ^20", "not a range"] {
            check_node("a@1", required, Some("v20.20.2\n")).unwrap();
        }
        let error = check_node("a@1", ">=22", None).unwrap_err();
        assert!(error.contains("no node on the PATH"), "{error}");
    }
}
