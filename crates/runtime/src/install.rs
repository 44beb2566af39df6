//! Finds and installs agents: in our data folder, where `interlingua agents install` puts them, in a fallback data folder,
//! or on the `PATH`.
//!
//! ```text
//! <data>/agents/claude/2.1.325/node_modules/.bin/claude
//!                      current ─▶ 2.1.325
//! ```
//!
//! A version is installed completely or not at all, does not change (agents are told not to update themselves), and is
//! found by its number. `current` points to the version that was installed last. Sessions that ask for no version use it.
//! Without `current`, they use the program on the `PATH`, whatever its version is.

mod launch_config;
mod node;
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
use semver::Version;
use tokio::time::timeout;

use crate::agents::{AgentStatus, InstallOptions, InstallRemedy};
use crate::driver::{ServeError, SessionSpec};
use crate::environment::Environment;
use crate::error::{Refusal, RuntimeError};
use crate::process::{Program, Supervisor};
use crate::process_environment::process_environment;
pub use launch_config::LaunchConfig;
use node::check_node;
use npm::{Npm, NpmError, Release};
use package::InstalledPackage;
use staging::StagingFolder;
use version::{compare_to_pinned, pinned_version};

/// Name of the link to the version that was installed last.
const CURRENT: &str = "current";
/// How long a program may take to print its version or help.
const CAPTURE_TIMEOUT: Duration = Duration::from_secs(10);

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

/// Maximum length of a version. It is the one of npm.
const MAX_VERSION_BYTES: usize = 256;

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
        // The protocol may have been measured with a release that is not in the registry. So the version of an agent that
        // is also run without the protocol is the one of its types.
        let same_package = |agent: &Agent| agent.descriptor().npm_package == profile.descriptor.npm_package;
        let native = Agent::ALL.into_iter().find(same_package).filter(|_| profile.descriptor.npm_package.is_some());
        let version = native.and_then(pinned_version).or_else(|| profile.measured_version.map(str::to_owned));
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
        let current = |folder: &Path| {
            let version = std::fs::read_link(folder.join(CURRENT)).ok()?;
            self.find_installed_in(folder, version.to_str()?)
        };
        self.folders().find_map(|folder| current(&folder)).or_else(|| self.find_on_path())
    }

    /// Finds the program of a version in the data folders.
    fn find_installed(&self, version: &str) -> Option<InstalledProgram> {
        self.folders().find_map(|folder| self.find_installed_in(&folder, version))
    }

    fn find_installed_in(&self, folder: &Path, version: &str) -> Option<InstalledProgram> {
        let path = self.program_path(&folder.join(version));
        (is_version(version) && is_program(&path)).then(|| InstalledProgram { path, version: Some(version.to_owned()) })
    }

    fn find_on_path(&self) -> Option<InstalledProgram> {
        let path = find_in_path(self.agent.program, self.config.search_path())?;
        let version = self.known_version(&path);
        Some(InstalledProgram { path, version })
    }

    /// Finds the program for a session.
    pub(crate) fn find_program(&self, version: Option<&str>) -> Result<InstalledProgram, ServeError> {
        let program = match version {
            None => self.find_default(),
            Some(version) => self.find_version(version),
        };
        program.ok_or_else(|| ServeError::NotInstalled { agent: self.agent.id, remedy: self.remedy(version) })
    }

    /// How to get the agent, or this version of it.
    fn remedy(&self, version: Option<&str>) -> InstallRemedy {
        InstallRemedy::new(self.agent.id, self.instructions(), version)
    }

    /// How to install an agent that is not an npm package, and so cannot be installed by this program.
    fn instructions(&self) -> Option<String> {
        if self.agent.npm_package.is_some() {
            return None;
        }
        let default = || format!("put its program `{}` on the PATH", self.agent.program);
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
                let detail = format!("{} {version} is not installed; {}", self.agent.id, self.remedy(Some(version)));
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
            name: self.agent.display_name,
            installed: program.is_some(),
            version_fit: versions.map(|(version, pinned)| compare_to_pinned(version, pinned)),
            pinned_version: self.pinned_version.clone(),
            version,
            path: program.map(|program| program.path),
            credentials: self.credentials(),
            install_instructions: self.instructions(),
            ..AgentStatus::default()
        }
    }

    /// Names of the credentials that were found.
    fn credentials(&self) -> Vec<String> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let keys = self.agent.credential_variables.iter().copied().filter(is_set);
        let logins = self.agent.login_files.iter();
        let logins =
            logins.filter(|login| login.locate(|name| std::env::var_os(name)).is_some_and(|path| path.is_file()));
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
        if let Some(instructions) = self.instructions() {
            return Err(format!("it is not an npm package; {instructions}"));
        }
        let _guard = self.install_lock.lock().await;
        let wanted = options
            .version
            .or_else(|| self.pinned_version.clone())
            .filter(|version| is_version(version))
            .ok_or("no version was given, and this program has no default for the agent")?;
        if !options.reinstall
            && let Some(program) = self.find_installed_in(&self.folder(), &wanted)
        {
            self.make_current(&wanted)?;
            return Ok(program);
        }
        let npm = Npm::find(self.supervisor(), self.config.search_path())?;
        let (package, release) = self.resolve(&npm, &wanted).await?;
        let version = release.version;
        let spec = format!("{package}@{version}");
        // A native program needs no Node.js, whatever its package declares.
        if let Some(required) = release.node.filter(|_| release.program_is_script) {
            self.check_node(&spec, &required).await?;
        }
        let staging = StagingFolder::create(&self.folder())?;
        npm.install(staging.path(), &spec, progress).await?;
        self.verify(staging.path(), &spec).await?;
        staging.publish(&self.folder().join(&version))?;
        self.make_current(&version)?;
        self.find_installed(&version).ok_or_else(|| format!("{spec} was installed, but its program has disappeared"))
    }

    /// The package that has the wanted version, and the release. An agent may be published under several names.
    async fn resolve(&self, npm: &Npm<'_>, wanted: &str) -> Result<(&'static str, Release), String> {
        let mut missing = Vec::new();
        for package in self.agent.npm_packages() {
            match npm.resolve(&format!("{package}@{wanted}"), self.agent.program).await {
                Ok(release) if is_version(&release.version) => return Ok((package, release)),
                Ok(Release { version, .. }) => {
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
            self.check_node(spec, &required).await?;
        }
        if is_program(&program) && self.capture_output(&program, "--version", minimal_environment()).await.is_some() {
            return Ok(());
        }
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        Err(format!("npm installed {spec}, but it has no program that runs on this machine ({os} {arch})"))
    }

    /// Checks that the Node.js on the `PATH` is one that a package can use.
    async fn check_node(&self, spec: &str, required: &str) -> Result<(), String> {
        let found = match find_in_path("node", self.config.search_path()) {
            Some(node) => self.capture_output(&node, "--version", minimal_environment()).await,
            None => None,
        };
        check_node(spec, required, found.as_deref())
    }

    fn make_current(&self, version: &str) -> Result<(), String> {
        let link = self.folder().join(format!(".current-{}", std::process::id()));
        // A process that died may have left one.
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(version, &link)
            .and_then(|()| std::fs::rename(&link, self.folder().join(CURRENT)))
            .map_err(|error| format!("cannot write to {}: {error}", self.folder().display()))
    }

    /// The folder into which the agent's versions are installed.
    fn folder(&self) -> PathBuf {
        self.config.agent_folder(self.agent.id)
    }

    /// The folders in which versions of the agent may be installed, the preferred one first.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.config.agent_folders(self.agent.id)
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

/// Whether this can be a version, or a tag such as `latest`, and not a path, an address or a range of versions.
fn is_version(text: &str) -> bool {
    let has_allowed_letters = text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-+".contains(letter));
    // npm takes `1`, `v1`, `1.x` and `x` for ranges.
    let number = text.trim_start_matches(['v', 'V']);
    let is_number = number.starts_with(|first: char| first.is_ascii_digit());
    let is_wildcard = text.split('.').all(|part| part.eq_ignore_ascii_case("x"));
    has_allowed_letters
        && text.len() <= MAX_VERSION_BYTES
        && if is_number { Version::parse(text).is_ok() } else { !is_wildcard }
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

/// The first word that looks like a version.
fn find_version_in(text: &str) -> Option<String> {
    let looks_like_version = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    text.split_whitespace().find(looks_like_version).map(str::to_owned)
}
