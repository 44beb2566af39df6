//! `interlingua server`: sessions behind one HTTP API.

mod access;

use std::fmt;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use interlingua_runtime::{Runtime, RuntimeOptions, drivers};
use interlingua_server::{Access, NamedTokens, ServerConfig, Token, TokenFile, WebOrigin, generate_token};
use interlingua_store::{Store, StoreOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tracing_subscriber::EnvFilter;

use crate::Outcome;
use crate::data_dir::{launch_config_with, resolve_data_dir};
use crate::duration::parse_duration;
use crate::mock_args::MockArgs;
use crate::server_file::{ServerFile, client_url};
use crate::storage_args::StorageArgs;

/// Requests are short, and agents are separate processes, so a few threads are enough.
const WORKER_THREADS: usize = 2;

/// Target of the log lines that a JSON log always contains, even if the filter excludes everything else.
const STATUS_TARGET: &str = "interlingua::status";

/// Serve sessions with every agent over HTTP and SSE.
///
/// Sessions and their events are stored in the data directory. Events that a client has received survive a crash. GET
/// /v1/openapi.json describes the API.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All paths under /v1 except /v1/health and /v1/ready require the header `Authorization: Bearer TOKEN`. `interlingua tokens \
add` makes tokens with names and scopes, which can be revoked while the server runs. A token that may do everything is set with \
INTERLINGUA_TOKEN or --token-file, which other users must not be able to read; --token works too, but other users of the machine can see it in the process list. \
With --no-token every process on this machine may use the server, but no web page. The agents that the server runs may \
not (on Linux); SECURITY.md says what that protects against.

The server prints `interlingua listens on http://ADDRESS` to standard error when it is ready. SIGINT (Ctrl-C) or \
SIGTERM stops it; a second one stops it at once. With --drain, SIGTERM lets the turns that run end first. While it runs, `server.json` in the data directory has its address and \
process id, so that other commands find it.

A program that starts a server of its own lets it choose a port, reads the address from standard output, and keeps \
standard input open: when the program ends, even if it is killed, the server stops its agents and ends too.

Examples:
  interlingua server --no-token
  INTERLINGUA_TOKEN=$(openssl rand -hex 24) interlingua server --host 0.0.0.0 --data-dir /var/lib/interlingua
  interlingua server --no-token --cors-allow-origin http://localhost:5173 --log debug
  interlingua server --no-token --port 0 --print-address --exit-with-parent")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 2468)]
    port: u16,
    /// Print the address as one line of JSON to standard output when the server is ready: {"address": "http://…"}
    #[arg(long)]
    print_address: bool,
    /// Stop when standard input is closed, as it is when the program that started the server ends
    #[arg(long)]
    exit_with_parent: bool,
    /// Token that clients must send
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["token_file", "no_token"])]
    token: Option<String>,
    /// File with the token that clients must send
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Allow every process on this machine without a token; only with a loopback address
    #[arg(long)]
    no_token: bool,
    /// Directory for sessions and agents [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Allow web pages of this origin to use the server; can be repeated
    #[arg(long, value_name = "ORIGIN")]
    cors_allow_origin: Vec<WebOrigin>,
    /// What stored events survive: `normal` a crash of the server, `full` also a power failure
    #[arg(long, value_name = "HOW", default_value = "normal")]
    sync: Durability,
    #[command(flatten)]
    storage: StorageArgs,
    /// On SIGTERM, start no further turns and wait for those that run, at most for this time, e.g. 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    drain: Option<Duration>,
    /// Deny permissions and reject questions without an answer after this time, e.g. 1h [default: they wait]
    #[arg(long, value_name = "DURATION", value_parser = parse_request_timeout)]
    request_timeout: Option<Duration>,
    /// Install an agent when a session needs it
    #[arg(long)]
    auto_install: bool,
    /// What to log: error, warn, info, debug, trace, or a filter such as `interlingua_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
    /// Format of the log on standard error: `text` for people, `json` for programs (one object per line)
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Add an agent that speaks the Agent Client Protocol: its name, and the command that starts it; can be repeated
    #[arg(long, value_name = "NAME=COMMAND")]
    acp_agent: Vec<String>,
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
    let log_format = args.log_format;
    let started = init_logging(&args.log, log_format).and_then(|()| access::access(&args));
    started.and_then(|access| serve(args, access, |_, _| ())).map_err(|error| match log_format {
        LogFormat::Text => error,
        LogFormat::Json => {
            tracing::error!(target: STATUS_TARGET, error = format!("{error:#}"), "the server failed");
            LoggedError.into()
        }
    })?;
    Ok(Outcome::Success)
}

/// Runs a server with a token of its own on the loopback address, until it receives SIGINT or SIGTERM. `ready` gets the
/// data directory, the address and the token when the server listens. What it returns is dropped when the server ends.
pub(crate) fn run_for_page<G>(
    data_dir: Option<PathBuf>,
    port: u16,
    log: &str,
    mock: MockArgs,
    ready: impl FnOnce(&Path, &str, &str) -> G,
) -> anyhow::Result<()> {
    init_logging(log, LogFormat::Text)?;
    let token = generate_token().context("cannot make a token")?;
    let access = Access::Token(Token::new(token.clone())?);
    serve(private_args(data_dir, port, mock), access, |data_dir, url| ready(data_dir, url, &token))
}

/// Runs a server with a token of its own on the loopback address, until a client in this process ends, or the process
/// receives SIGINT or SIGTERM. `start` gets the data directory, the address and the token, and returns the client. The
/// caller has set up logging.
pub(crate) fn run_for_acp<F>(
    data_dir: PathBuf,
    acp_agent: &[String],
    mock: MockArgs,
    start: impl FnOnce(&Path, &str, &str) -> anyhow::Result<F>,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let token = generate_token().context("cannot make a token")?;
    let access = Access::Token(Token::new(token.clone())?);
    let args = Args { acp_agent: acp_agent.to_vec(), ..private_args(Some(data_dir), 0, mock) };
    serve_until(args, access, |data_dir, url| Ok(((), start(data_dir, url, &token)?)))
}

/// Options of a server for one program of this user.
fn private_args(data_dir: Option<PathBuf>, port: u16, mock: MockArgs) -> Args {
    Args {
        host: "127.0.0.1".to_owned(),
        port,
        print_address: false,
        exit_with_parent: false,
        token: None,
        token_file: None,
        no_token: false,
        data_dir,
        cors_allow_origin: Vec::new(),
        sync: Durability::Normal,
        drain: None,
        request_timeout: None,
        auto_install: false,
        log: String::new(),
        log_format: LogFormat::Text,
        acp_agent: Vec::new(),
        mock,
        storage: StorageArgs::default(),
    }
}

fn serve<G>(args: Args, access: Access, ready: impl FnOnce(&Path, &str) -> G) -> anyhow::Result<()> {
    serve_until(args, access, |data_dir, url| Ok((ready(data_dir, url), std::future::pending())))
}

/// Runs a server until the future that `ready` returns completes, or the process receives SIGINT or SIGTERM. The value
/// beside the future is dropped when the server ends.
fn serve_until<G, F>(
    args: Args,
    access: Access,
    ready: impl FnOnce(&Path, &str) -> anyhow::Result<(G, F)>,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    access::protect_memory();
    let data_dir = resolve_data_dir(args.data_dir)?;
    let durability = match args.sync {
        Durability::Normal => interlingua_store::Durability::Normal,
        Durability::Full => interlingua_store::Durability::Full,
    };
    let mock = args.mock.driver()?;
    let launch = launch_config_with(&data_dir, &args.acp_agent)?;
    let store = Store::open(&data_dir, args.storage.apply(StoreOptions::default().durability(durability)))?;
    let named_tokens = NamedTokens::load(TokenFile::new(&data_dir))?;
    let config = ServerConfig::new(access).named_tokens(named_tokens).allowed_origins(args.cors_allow_origin);
    let options = RuntimeOptions::default().auto_install(args.auto_install).request_timeout(args.request_timeout);
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let ended = tokio.block_on(async {
        let address = format!("{}:{}", bracket_ipv6(&args.host), args.port);
        let listener = TcpListener::bind(&address).await.map_err(|error| {
            anyhow!("cannot listen on {address}: {error}; choose another address with --host or --port")
        })?;
        let address = listener.local_addr()?;
        config.check_address(address)?;
        let shutdown = shutdown_signal(args.exit_with_parent)?;
        let url = client_url(address);
        // Clients that know the address do not need the file.
        let _server_file = ServerFile::create(&data_dir, url.clone())
            .inspect_err(|error| tracing::warn!(%error, "cannot write server.json; commands need --endpoint"));
        if args.print_address {
            print_address(&url)?;
        }
        let runtime = Runtime::start(store.clone(), drivers(&launch, mock), options);
        let shutdown = drain_before(shutdown, args.drain, runtime.clone());
        announce(address, args.log_format);
        let (_guard, ended) = ready(&data_dir, &url)?;
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
            }
        };
        tracing::info!(version = env!("CARGO_PKG_VERSION"), data_dir = %data_dir.display(), "server started");
        let served = interlingua_server::serve(listener, config, runtime.clone(), store.clone(), shutdown).await;
        runtime.shutdown().await;
        // After this, the database file is complete without other files, even while clones of the store exist.
        tokio::task::spawn_blocking(move || store.close()).await.context("cannot close the store")?;
        served?;
        tracing::info!("server stopped");
        if ended.is_finished() { ended.await.context("the client of the server failed")? } else { Ok(()) }
    });
    // A thread that reads standard input cannot be joined.
    tokio.shutdown_background();
    ended
}

/// Waits for the shutdown, and after SIGTERM also for the turns that run.
async fn drain_before(shutdown: impl Future<Output = StopCause>, drain: Option<Duration>, runtime: Runtime) {
    let (StopCause::Terminate, Some(limit)) = (shutdown.await, drain) else { return };
    tracing::info!(limit_s = limit.as_secs(), "draining: starting no further turns and waiting for those that run");
    match runtime.drain(limit).await {
        0 => tracing::info!("all turns have ended"),
        sessions => tracing::warn!(sessions, "the time to drain is over; interrupting the turns that still run"),
    }
}

/// Parses `--request-timeout`. Zero would deny every request.
fn parse_request_timeout(text: &str) -> Result<Duration, String> {
    let timeout = parse_duration(text)?;
    if timeout.is_zero() {
        Err("every request would be denied at once; expected more than 0".to_owned())
    } else {
        Ok(timeout)
    }
}

/// Why the server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopCause {
    Interrupt,
    Terminate,
    ParentEnded,
}

impl StopCause {
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::ParentEnded => "standard input was closed",
        }
    }
}

/// Puts an IPv6 address into brackets, as it is written before a port.
fn bracket_ipv6(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

/// Prints the address of the server. Scripts wait for this line, so it does not depend on the log filter.
fn announce(address: SocketAddr, log_format: LogFormat) {
    match log_format {
        LogFormat::Text => eprintln!("interlingua listens on http://{address}"),
        LogFormat::Json => tracing::info!(target: STATUS_TARGET, address = format!("http://{address}"), "listening"),
    }
}

/// Prints the address as JSON, for the program that started the server.
fn print_address(url: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", serde_json::json!({ "address": url }))
        .and_then(|()| stdout.flush())
        .context("cannot print the address to standard output")
}

fn init_logging(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    // Not `context`: the parser's error repeats its source in its own text.
    let parsed = EnvFilter::try_new(filter).map_err(|error| anyhow!("invalid filter --log {filter}: {error}"));
    // The error itself has to be logged, too.
    let (env_filter, result) = match parsed {
        Ok(env_filter) => (env_filter, Ok(())),
        Err(error) => (EnvFilter::new("info"), Err(error)),
    };
    match format {
        LogFormat::Text => tracing_subscriber::fmt()
            .with_env_filter(env_filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .init(),
        LogFormat::Json => {
            let status = format!("{STATUS_TARGET}=info").parse().context("invalid log directive")?;
            tracing_subscriber::fmt()
                .with_env_filter(env_filter.add_directive(status))
                .with_writer(std::io::stderr)
                .json()
                .init();
        }
    }
    result
}

/// Completes when the process receives SIGINT or SIGTERM, or when standard input is closed if `exit_with_parent`. A
/// second signal ends the process at once.
fn shutdown_signal(exit_with_parent: bool) -> anyhow::Result<impl Future<Output = StopCause>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let parent_end = if exit_with_parent { Some(wait_for_end_of_input()?) } else { None };
    Ok(async move {
        let parent_end = async {
            match parent_end {
                // The sender is dropped only when the thread is gone, which means the same.
                Some(end) => drop(end.await),
                None => std::future::pending().await,
            }
        };
        let cause = tokio::select! {
            _ = interrupt.recv() => StopCause::Interrupt,
            _ = terminate.recv() => StopCause::Terminate,
            () = parent_end => StopCause::ParentEnded,
        };
        tracing::info!(cause = cause.name(), "shutting down");
        tokio::spawn(async move {
            let signal = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            };
            tracing::warn!(signal, "second signal; exiting without waiting for agents");
            std::process::exit(130);
        });
        cause
    })
}

/// Reads standard input to its end in the background. A thread of its own, because tokio would wait for the read when
/// it shuts down.
fn wait_for_end_of_input() -> anyhow::Result<oneshot::Receiver<()>> {
    let (sender, receiver) = oneshot::channel();
    let read = move || {
        let mut buffer = [0; 1024];
        let mut stdin = io::stdin().lock();
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
                Ok(_) | Err(_) => {}
            }
        }
        // The server may be shutting down already.
        let _ = sender.send(());
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(read).context("cannot start a thread")?;
    Ok(receiver)
}
