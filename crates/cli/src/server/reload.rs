//! Loading the configuration again while the server runs (SIGHUP).

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use interlingua_runtime::Runtime;
use interlingua_server::{SharedConfig, TlsIdentity};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config_file::{ConfigFile, load_args};
use super::notify::ServiceManager;
use super::{Args, access, server_config};

/// Options that take effect without a restart.
const RELOADED: [&str; 9] =
    ["drain", "fs", "fs-root", "no-token", "request-timeout", "retain", "tls-cert", "tls-key", "token-file"];

/// Options whose files are read again, but whose paths are not.
const FILES_RELOADED: [&str; 2] = ["tls-cert", "tls-key"];

/// How long the turns that run may take to end after SIGTERM.
pub(super) type DrainTime = Arc<Mutex<Option<Duration>>>;

/// What a reload changes.
pub(super) struct Reload {
    /// The options that the server was started with.
    pub(super) command_line: Args,
    /// The file with options, as it was read last.
    pub(super) file: Option<ConfigFile>,
    pub(super) config: SharedConfig,
    /// The addresses of the TCP listeners.
    pub(super) addresses: Vec<std::net::SocketAddr>,
    pub(super) runtime: Runtime,
    pub(super) tls: Option<TlsIdentity>,
    pub(super) drain: DrainTime,
    pub(super) manager: ServiceManager,
    /// What the service manager shows as the address.
    pub(super) address: String,
    /// Whether the server was started in a terminal. SIGHUP then also means that the terminal is gone.
    pub(super) has_terminal: bool,
}

/// Receives SIGHUP from now on. Before that, it would end the process.
pub(super) fn reload_signal() -> anyhow::Result<Signal> {
    signal(SignalKind::hangup()).context("cannot handle SIGHUP")
}

impl Reload {
    /// Reloads at each SIGHUP. Ends when the terminal of the server is gone.
    pub(super) async fn run(mut self, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            if self.has_terminal && !std::io::stderr().is_terminal() {
                return tracing::info!(cause = "the terminal was closed", "shutting down");
            }
            self.manager.reloading();
            match self.apply() {
                Ok(restart) if restart.is_empty() => tracing::info!("loaded the configuration again"),
                Ok(restart) => {
                    let restart = restart.join(", ");
                    tracing::warn!(restart, "loaded the configuration again; these options change with a restart only");
                }
                Err(error) => {
                    tracing::error!(error = format!("{error:#}"), "keeping the old configuration");
                }
            }
            self.manager.ready(&self.address);
        }
    }

    /// Returns the options that have changed and need a restart.
    fn apply(&mut self) -> anyhow::Result<Vec<String>> {
        let (args, file) = load_args(self.command_line.clone())?;
        let access = access::access(&args)?;
        let old = self.config.load();
        let mut new = server_config(&args, access, old.named_tokens.clone())?;
        // The routes were made for these.
        new.allowed_origins.clone_from(&old.allowed_origins);
        new.compat = old.compat;
        for address in &self.addresses {
            new.check_address(*address)?;
        }
        if let Some(tls) = &self.tls {
            tls.reload()?;
        }
        self.config.replace(new);
        self.runtime.set_request_timeout(args.request_timeout);
        *self.drain.lock().unwrap_or_else(PoisonError::into_inner) = args.drain;
        let changed = match (&self.file, &file) {
            (Some(old), Some(new)) => old.changed_keys(new),
            _ => Vec::new(),
        };
        self.file = file;
        let needs_restart = |key: &String| !RELOADED.contains(&key.as_str()) || FILES_RELOADED.contains(&key.as_str());
        Ok(changed.into_iter().filter(needs_restart).collect())
    }
}
