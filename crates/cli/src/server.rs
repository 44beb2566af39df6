//! `interlingua server`: sessions behind one HTTP API.

mod access;
mod config_file;
mod listen;
mod logging;
mod notify;
mod options;
mod reload;
mod signals;

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use interlingua_runtime::{Runtime, RuntimeOptions, drivers};
use interlingua_server::{
    Access, Listener, NamedTokens, ServerConfig, SharedConfig, TlsIdentity, Token, TokenFile, generate_token,
};
use tokio::sync::oneshot;

use crate::Outcome;
use crate::data_dir::{launch_config_with, resolve_data_dir};
use crate::mock_args::MockArgs;
use crate::output::print_notice;
use crate::server_file::{ServerFile, local_address};
use crate::store_args::StoreArgs;
pub(crate) use config_file::{ConfigError, ConfigFile};
pub(crate) use logging::log_to_stderr;
use logging::{LogFormat, STATUS_TARGET, init_logging};
use notify::ServiceManager;
pub use options::Args;
use options::{private_args, server_config, store_options};
use reload::{DrainTime, Reload};
use signals::{StopCause, shutdown_signal};

/// Port on which a server listens if no other is given.
pub(crate) const DEFAULT_PORT: u16 = 2468;

/// Requests are short, and agents are separate processes, so a few threads are enough.
const WORKER_THREADS: usize = 2;

/// An error that is in the JSON log already.
#[derive(Debug)]
pub(crate) struct LoggedError;

impl fmt::Display for LoggedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server failed; see its log")
    }
}

impl std::error::Error for LoggedError {}

/// Runs the server until it receives SIGINT or SIGTERM.
///
/// # Errors
/// If there is no token, the data directory cannot be used, or the address is taken.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut log_format = args.log_format;
    let command_line = args.clone();
    let result = match config_file::load_args(args) {
        Ok((args, file)) => {
            log_format = args.log_format;
            let started = init_logging(&args.log, log_format).and_then(|()| access::access(&args));
            started.and_then(|access| {
                let reload = ReloadSource { command_line, file };
                serve_until(args, access, Some(reload), |_, _| Ok(((), std::future::pending())))
            })
        }
        Err(error) => init_logging("info", log_format).and(Err(error)),
    };
    result.map_err(|error| match log_format {
        LogFormat::Text => error,
        LogFormat::Json => {
            tracing::error!(target: STATUS_TARGET, error = format!("{error:#}"), "the server failed");
            LoggedError.into()
        }
    })?;
    Ok(Outcome::Success)
}

/// What is wrong with the files that a configuration file names.
pub(crate) fn check_files(file: &ConfigFile) -> anyhow::Result<Vec<ConfigError>> {
    let args = file.to_args()?;
    let mut errors = Vec::new();
    if let Some(path) = &args.token_file
        && let Err(error) = access::read_token_file(path)
    {
        errors.push(file.error("token-file", format!("{error:#}")));
    }
    if let Err(error) = listen::load_tls_identity(&args) {
        errors.push(file.error("tls-cert", format!("{error:#}")));
    }
    for root in &args.fs_root {
        if let Err(reason) = listen::check_directory(root) {
            errors.push(file.error("fs-root", reason));
        }
    }
    Ok(errors)
}

/// Runs a server with a token of its own on the loopback address, until it receives SIGINT or SIGTERM. `ready` gets the
/// data directory, the address and the token when the server listens. What it returns is dropped when the server ends.
pub(crate) fn run_for_page<G>(
    data_dir: Option<PathBuf>,
    port: u16,
    log: &str,
    mock: MockArgs,
    store: StoreArgs,
    ready: impl FnOnce(&Path, &str, &str) -> G,
) -> anyhow::Result<()> {
    init_logging(log, LogFormat::Text)?;
    let token = generate_token().context("cannot make a token")?;
    let access = Access::Token(Token::new(token.clone())?);
    let ready = |data_dir: &Path, url: &str| Ok((ready(data_dir, url, &token), std::future::pending()));
    serve_until(private_args(data_dir, port, mock, store), access, None, ready)
}

/// Runs a server with a token of its own on the loopback address, until a client in this process ends, or the process
/// receives SIGINT or SIGTERM. `start` gets the data directory, the address and the token, and returns the client. The
/// caller has set up logging.
pub(crate) fn run_for_acp<F>(
    data_dir: PathBuf,
    acp_agent: &[String],
    mock: MockArgs,
    store: StoreArgs,
    start: impl FnOnce(&Path, &str, &str) -> anyhow::Result<F>,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let token = generate_token().context("cannot make a token")?;
    let access = Access::Token(Token::new(token.clone())?);
    let args = Args { acp_agent: acp_agent.to_vec(), ..private_args(Some(data_dir), 0, mock, store) };
    serve_until(args, access, None, |data_dir, url| Ok(((), start(data_dir, url, &token)?)))
}

/// Where the options of the server come from, so that they can be read again.
struct ReloadSource {
    command_line: Args,
    file: Option<ConfigFile>,
}

/// Runs a server until the future that `ready` returns completes, or the process receives SIGINT or SIGTERM. The value
/// beside the future is dropped when the server ends.
fn serve_until<G, F>(
    args: Args,
    access: Access,
    reload: Option<ReloadSource>,
    ready: impl FnOnce(&Path, &str) -> anyhow::Result<(G, F)>,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    access::protect_memory();
    let data_dir = resolve_data_dir(args.data_dir.clone())?;
    let config = server_config(&args, access, Some(NamedTokens::load(TokenFile::new(&data_dir))?))?;
    let tls = listen::load_tls_identity(&args)?;
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let ended = tokio.block_on(async {
        let listeners = listen::bind_all(&args, tls.as_ref()).await?;
        check_addresses(&listeners, &config)?;
        Server { args, data_dir, config: config.into(), tls, listeners, reload }.run(ready).await
    });
    // A thread that reads standard input cannot be joined.
    tokio.shutdown_background();
    ended
}

/// Refuses addresses that the configuration does not allow, before anything else is started.
fn check_addresses(listeners: &[Listener], config: &ServerConfig) -> anyhow::Result<()> {
    for listener in listeners {
        if let Some(address) = listener.tcp_address()? {
            config.check_address(address)?;
        }
    }
    Ok(())
}

/// A server that is about to run.
struct Server {
    args: Args,
    data_dir: PathBuf,
    config: SharedConfig,
    tls: Option<TlsIdentity>,
    listeners: Vec<Listener>,
    reload: Option<ReloadSource>,
}

impl Server {
    async fn run<G, F>(mut self, ready: impl FnOnce(&Path, &str) -> anyhow::Result<(G, F)>) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let mock = self.args.mock.driver()?;
        let launch = launch_config_with(&self.data_dir, &self.args.acp_agent)?;
        if self.args.store.shows_password() {
            tracing::warn!(
                "other users of this machine can read the password in --store in the process list; use INTERLINGUA_STORE or PGPASSFILE"
            );
        }
        let store = self.args.store.open_for_server(&self.data_dir, store_options(&self.args)).await?;
        let shutdown = shutdown_signal(self.args.exit_with_parent)?;
        let addresses = self
            .listeners
            .iter()
            .map(local_address)
            .collect::<io::Result<Vec<String>>>()
            .context("a socket is closed")?;
        let url = listen::address_for_programs(&self.listeners).unwrap_or_default();
        // Clients that know the address do not need the file.
        let _server_file = ServerFile::create(&self.data_dir, url.clone())
            .inspect_err(|error| tracing::warn!(%error, "cannot write server.json; commands need --endpoint"));
        if self.args.print_address {
            print_addresses(&addresses)?;
        }
        let options = RuntimeOptions::default()
            .auto_install(self.args.auto_install)
            .request_timeout(self.args.request_timeout)
            .skills_folder(Some(self.data_dir.join("skills")));
        let runtime = Runtime::start(store.clone(), drivers(&launch, mock), options);
        let manager = ServiceManager::from_environment();
        let drain: DrainTime = Arc::new(Mutex::new(self.args.drain));
        let reloading = self.start_reload(&runtime, &drain, &manager)?;
        announce(&self.listeners, self.args.log_format);
        manager.ready(&addresses.join(", "));
        let watchdog = tokio::spawn(manager.clone().watch(store.clone()));
        let shutdown = drain_before(shutdown, drain, runtime.clone(), manager);
        let (_guard, ended) = ready(&self.data_dir, &url)?;
        let (end_sender, end_receiver) = oneshot::channel();
        let ended = tokio::spawn(async move {
            let result = ended.await;
            // The server may be shutting down already.
            let _ = end_sender.send(());
            result
        });
        let shutdown = async move {
            tokio::select! {
                () = shutdown => {}
                _ = end_receiver => {}
                () = reloading => {}
            }
        };
        let data_dir = self.data_dir.display();
        tracing::info!(version = env!("CARGO_PKG_VERSION"), %data_dir, "server started");
        let (listeners, config) = (std::mem::take(&mut self.listeners), self.config.clone());
        let served = interlingua_server::serve(listeners, config, runtime.clone(), store.clone(), shutdown).await;
        runtime.shutdown().await;
        watchdog.abort();
        // After this, the database file is complete without other files, even while clones of the store exist.
        store.close().await;
        served?;
        tracing::info!("server stopped");
        if ended.is_finished() { ended.await.context("the client of the server failed")? } else { Ok(()) }
    }

    /// Loads the configuration again at SIGHUP, if the server was started by itself. The future completes when the
    /// terminal of the server is gone.
    fn start_reload(
        &mut self,
        runtime: &Runtime,
        drain: &DrainTime,
        manager: &ServiceManager,
    ) -> anyhow::Result<impl Future<Output = ()> + use<>> {
        let reload = self.reload.take().map(|ReloadSource { command_line, file }| {
            let addresses = self.listeners.iter().filter_map(|listener| listener.tcp_address().ok().flatten());
            Reload {
                command_line,
                file,
                config: self.config.clone(),
                addresses: addresses.collect(),
                runtime: runtime.clone(),
                tls: self.tls.clone(),
                drain: Arc::clone(drain),
                manager: manager.clone(),
                address: self.listeners.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                has_terminal: io::stderr().is_terminal(),
            }
        });
        let reload = match reload {
            Some(reload) => Some((reload, reload::reload_signal()?)),
            None => None,
        };
        Ok(async move {
            match reload {
                Some((reload, hangup)) => reload.run(hangup).await,
                None => std::future::pending().await,
            }
        })
    }
}

/// Waits for the shutdown, and after SIGTERM also for the turns that run.
async fn drain_before(
    shutdown: impl Future<Output = StopCause>,
    drain: DrainTime,
    runtime: Runtime,
    manager: ServiceManager,
) {
    let cause = shutdown.await;
    let limit = *drain.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = limit.filter(|_| cause == StopCause::Terminate);
    manager.stopping(limit.unwrap_or_default());
    let Some(limit) = limit else { return };
    tracing::info!(limit_s = limit.as_secs(), "draining: starting no further turns and waiting for those that run");
    match runtime.drain(limit).await {
        0 => tracing::info!("all turns have ended"),
        sessions => tracing::warn!(sessions, "the time to drain is over; interrupting the turns that still run"),
    }
}

/// Prints the addresses of the server. Scripts wait for this line, so it does not depend on the log filter.
fn announce(listeners: &[Listener], log_format: LogFormat) {
    for listener in listeners {
        match log_format {
            LogFormat::Text => print_notice(format_args!("interlingua listens on {listener}")),
            LogFormat::Json => tracing::info!(target: STATUS_TARGET, address = %listener, "listening"),
        }
    }
}

/// Prints the address as JSON, for the program that started the server.
fn print_addresses(addresses: &[String]) -> anyhow::Result<()> {
    let mut line = serde_json::json!({ "address": addresses.first() });
    if addresses.len() > 1 {
        line["addresses"] = addresses.into();
    }
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("cannot print the address to standard output")
}
