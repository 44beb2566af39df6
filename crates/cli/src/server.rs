//! `interlingua server`: sessions behind one HTTP API.

use std::fs;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use interlingua_runtime::{Runtime, RuntimeOptions, drivers};
use interlingua_server::{Access, ServerConfig, Token, WebOrigin};
use interlingua_store::{Store, StoreOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::Outcome;
use crate::data_folder::{data_folder, machine};
use crate::mock_args::MockArgs;

/// Requests are short and agents are processes of their own: a few threads are enough.
const WORKERS: usize = 2;

/// Serve sessions with every agent over HTTP and SSE.
///
/// Sessions and their events are kept in the data folder; what a client has seen is there after a crash. The API is
/// described by GET /v1/openapi.json.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Everything under /v1 but /v1/health wants `Authorization: Bearer TOKEN`. The token is the one of --token, --token-file
or INTERLINGUA_TOKEN, which other processes cannot see. With --no-token every process on this machine may use the
server, but no web page.

Examples:
  interlingua server --no-token
  INTERLINGUA_TOKEN=$(openssl rand -hex 24) interlingua server --host 0.0.0.0 --data-dir /var/lib/interlingua
  interlingua server --no-token --cors-allow-origin http://localhost:5173 --log debug")]
pub struct Args {
    /// The address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 2468)]
    port: u16,
    /// The token that clients must have
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["token_file", "no_token"])]
    token: Option<String>,
    /// A file with the token that clients must have
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Let every process on this machine in; only with a loopback address
    #[arg(long)]
    no_token: bool,
    /// Where to keep sessions [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Let web pages of this origin use the server; can be repeated
    #[arg(long, value_name = "ORIGIN")]
    cors_allow_origin: Vec<WebOrigin>,
    /// What stored events survive: `normal` the death of the server, `full` also the loss of power
    #[arg(long, value_name = "HOW", default_value = "normal")]
    sync: Durability,
    /// Install an agent when a session needs it
    #[arg(long)]
    auto_install: bool,
    /// What to log: error, warn, info, debug, trace, or a filter such as `interlingua_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// How to log: `text` for people, `json` for machines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    #[command(flatten)]
    mock: MockArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Durability {
    Normal,
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Runs the command, until it is told to stop.
///
/// # Errors
/// When there is no token, the data folder cannot be used, or the address is taken.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    start_log(&args)?;
    let access = access(&args)?;
    let folder = data_folder(args.data_dir)?;
    let durability = match args.sync {
        Durability::Normal => interlingua_store::Durability::Normal,
        Durability::Full => interlingua_store::Durability::Full,
    };
    let mock = args.mock.driver()?;
    let machine = machine(&folder)?;
    let store = Store::open(&folder, StoreOptions::default().durability(durability))?;
    let config = ServerConfig::new(access).allowed_origins(args.cors_allow_origin);
    let options = RuntimeOptions::default().auto_install(args.auto_install);
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    tokio.block_on(async {
        let address = format!("{}:{}", bracketed(&args.host), args.port);
        let listener = TcpListener::bind(&address).await.with_context(|| format!("cannot listen on {address}"))?;
        let stop = stop_signal()?;
        let runtime = Runtime::start(store.clone(), drivers(&machine, mock), options);
        announce(listener.local_addr()?);
        let served = interlingua_server::serve(listener, config, runtime.clone(), store, stop).await;
        runtime.shutdown().await;
        served.map_err(anyhow::Error::from)
    })?;
    Ok(Outcome::Success)
}

/// An IPv6 address is written in brackets before a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

/// Tells where the server listens. The log may be off; this is what a script waits for.
fn announce(address: SocketAddr) {
    eprintln!("interlingua listens on http://{address}");
}

fn access(args: &Args) -> anyhow::Result<Access> {
    if args.no_token {
        return Ok(Access::Loopback);
    }
    let given = match (&args.token, &args.token_file) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(file)) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            Some(text.trim().to_owned())
        }
        (None, None) => std::env::var("INTERLINGUA_TOKEN").ok(),
    };
    let Some(given) = given else {
        bail!("no token: set INTERLINGUA_TOKEN, or give --token-file FILE, or let this machine in with --no-token");
    };
    Ok(Access::Token(Token::new(given)?))
}

fn start_log(args: &Args) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&args.log).with_context(|| format!("--log {}", args.log))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}

/// Done when the process is asked to stop. A second time, it is not waited for anything.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stops");
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            std::process::exit(130);
        });
    })
}
