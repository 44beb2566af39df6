//! The options of the server.

use std::path::PathBuf;
use std::time::Duration;

use interlingua_server::{Access, Compat, FileRoots, NamedTokens, ServerConfig, WebOrigin};
use interlingua_store::StoreOptions;

use super::listen::ListenAddress;
use super::logging::LogFormat;
use crate::duration::parse_duration;
use crate::mock_args::MockArgs;
use crate::storage_args::StorageArgs;
use crate::store_args::StoreArgs;

/// Serve sessions with every agent over HTTP and SSE.
///
/// Sessions and their events are stored in the data directory. Events that a client has received survive a crash. GET
/// /v1/openapi.json describes the API.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
All paths under /v1 except /v1/health and /v1/ready require the header `Authorization: Bearer TOKEN`. `interlingua tokens \
add` makes tokens with names and scopes, which can be revoked while the server runs. A token that may do everything is set with \
INTERLINGUA_TOKEN or --token-file, which other users must not be able to read; --token works too, but other users of the machine can see it in the process list. \
With --no-token every process on this machine may use the server, but no web page. The agents that the server runs may \
not (on Linux); SECURITY.md says what that protects against.

The server prints `interlingua listens on http://ADDRESS` to standard error when it is ready. SIGINT (Ctrl-C) or \
SIGTERM stops it; a second one stops it at once. With --drain, SIGTERM lets the turns that run end first. SIGHUP loads the \
configuration again: --config, --token-file, and the TLS certificate. While it runs, `server.json` in the data directory has its \
address and process id, so that other commands find it. As a service of systemd with Type=notify it reports its state.

A program that starts a server of its own lets it choose a port, reads the address from standard output, and keeps \
standard input open: when the program ends, even if it is killed, the server stops its agents and ends too.

Examples:
  interlingua server --no-token
  INTERLINGUA_TOKEN=$(openssl rand -hex 24) interlingua server --host 0.0.0.0 --data-dir /var/lib/interlingua
  interlingua server --no-token --cors-allow-origin http://localhost:5173 --log debug
  interlingua server --config /etc/interlingua/server.toml
  interlingua server --listen tcp://0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --listen unix:/run/interlingua.sock
  interlingua server --no-token --port 0 --print-address --exit-with-parent")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// File with options (TOML): its keys are the names of these options; those on the command line win
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(super) host: String,
    /// Port to listen on; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = super::DEFAULT_PORT)]
    pub(super) port: u16,
    /// Listen on tcp://HOST:PORT or unix:PATH, instead of --host and --port; can be repeated
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["host", "port"])]
    pub(super) listen: Vec<ListenAddress>,
    /// Certificate with its chain (PEM): TCP clients speak TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM), in a file that other users cannot read
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// Print the address as one line of JSON to standard output when the server is ready: {"address": "http://…"}
    #[arg(long)]
    pub(super) print_address: bool,
    /// Stop when standard input is closed, as it is when the program that started the server ends
    #[arg(long)]
    pub(super) exit_with_parent: bool,
    /// Token that clients must send
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["token_file", "no_token"])]
    pub(super) token: Option<String>,
    /// File with the token that clients must send
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    pub(super) token_file: Option<PathBuf>,
    /// Allow every process on this machine without a token; only with a loopback address
    #[arg(long)]
    pub(super) no_token: bool,
    /// Directory for sessions and agents [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Allow web pages of this origin to use the server; can be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(super) cors_allow_origin: Vec<WebOrigin>,
    /// What events stored in the data directory survive: `normal` a crash of the server, `full` also a power failure
    #[arg(long, value_name = "HOW", default_value = "normal")]
    pub(super) sync: Durability,
    #[command(flatten)]
    pub(super) storage: StorageArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    /// On SIGTERM, start no further turns and wait for those that run, at most for this time, e.g. 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(super) drain: Option<Duration>,
    /// Deny permissions and reject questions without an answer after this time, e.g. 1h [default: they wait]
    #[arg(long, value_name = "DURATION", value_parser = parse_request_timeout)]
    pub(super) request_timeout: Option<Duration>,
    /// Delete sessions that have not changed for this time, e.g. 30d; those with the label pinned=true are kept
    #[arg(long, value_name = "DURATION", value_parser = parse_retain)]
    pub(super) retain: Option<Duration>,
    /// Let clients read and write files in the directories of sessions and in --fs-root
    #[arg(long)]
    pub(super) fs: bool,
    /// Directory whose files clients may use without naming a session; can be repeated
    #[arg(long, value_name = "DIR", requires = "fs")]
    pub(super) fs_root: Vec<PathBuf>,
    /// Answer as another API does, whose clients then work unchanged
    #[arg(long, value_name = "API")]
    pub(super) compat: Option<CompatArg>,
    /// Install an agent when a session needs it
    #[arg(long)]
    pub(super) auto_install: bool,
    /// What to log: error, warn, info, debug, trace, or a filter such as `interlingua_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(super) log: String,
    /// Format of the log on standard error: `text` for people, `json` for programs (one object per line)
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
    /// Add an agent that speaks the Agent Client Protocol: its name, and the command that starts it; can be repeated
    #[arg(long, value_name = "NAME=COMMAND")]
    pub(super) acp_agent: Vec<String>,
    #[command(flatten)]
    pub(super) mock: MockArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Durability {
    Normal,
    Full,
}

/// Another API whose clients work with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CompatArg {
    /// sandbox-agent 0.1
    SandboxAgent,
}

/// Options of a server for one program of this user.
pub(super) fn private_args(data_dir: Option<PathBuf>, port: u16, mock: MockArgs, store: StoreArgs) -> Args {
    Args {
        config: None,
        host: "127.0.0.1".to_owned(),
        port,
        listen: Vec::new(),
        tls_cert: None,
        tls_key: None,
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
        retain: None,
        fs: false,
        fs_root: Vec::new(),
        compat: None,
        auto_install: false,
        log: String::new(),
        log_format: LogFormat::Text,
        acp_agent: Vec::new(),
        mock,
        storage: StorageArgs::default(),
        store,
    }
}

/// The configuration of the API.
pub(super) fn server_config(
    args: &Args,
    access: Access,
    named_tokens: Option<NamedTokens>,
) -> anyhow::Result<ServerConfig> {
    let files = if args.fs { Some(FileRoots::new(&args.fs_root)?) } else { None };
    let mut config = ServerConfig::new(access)
        .allowed_origins(args.cors_allow_origin.clone())
        .files(files)
        .retain(args.retain)
        .compat(args.compat.map(|CompatArg::SandboxAgent| Compat::SandboxAgent));
    config.named_tokens = named_tokens;
    Ok(config)
}

pub(super) fn store_options(args: &Args) -> StoreOptions {
    let durability = match args.sync {
        Durability::Normal => interlingua_store::Durability::Normal,
        Durability::Full => interlingua_store::Durability::Full,
    };
    args.storage.apply(StoreOptions::default().durability(durability))
}

/// Parses `--retain`. Zero would delete every session.
fn parse_retain(text: &str) -> Result<Duration, String> {
    let retain = parse_duration(text)?;
    if retain.is_zero() { Err("every session would be deleted; expected more than 0".to_owned()) } else { Ok(retain) }
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
