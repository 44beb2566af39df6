//! `interlingua acp`: an agent of the Agent Client Protocol, for editors.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use interlingua_acp::AcpOptions;
use interlingua_client::Client;
use tracing_subscriber::EnvFilter;

use crate::Outcome;
use crate::data_dir::resolve_data_dir;
use crate::mock_args::MockArgs;
use crate::server::log_to_stderr;
use crate::server_file::{ServerInfo, find_server};
use crate::store_args::StoreArgs;

/// Name of the file in the data directory with the token of the server that this command has started.
const TOKEN_FILE: &str = "server.token";

/// Be an ACP agent: an editor starts this and gets any coding agent, with sessions that survive.
///
/// Speaks the Agent Client Protocol on standard input and output. The sessions are those of the server on the data
/// directory. If none runs, this command is the server until the editor ends it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
docs/acp.md has the settings for Zed, JetBrains, Neovim and Emacs.

Examples:
  interlingua acp --agent claude
  interlingua acp --agent codex --endpoint http://127.0.0.1:2468 --token-file ~/.interlingua-token")]
pub struct Args {
    /// The agent of new sessions; the editor can choose another one
    #[arg(long, value_name = "AGENT", default_value = "claude")]
    agent: String,
    /// Address of the server [default: the server running on the data directory, or one that this command starts]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Directory for sessions and agents [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR", conflicts_with = "endpoint")]
    data_dir: Option<PathBuf>,
    /// File with the server's token [default: the token in `$INTERLINGUA_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Add an ACP agent: its name, and the command that starts it; can be repeated
    #[arg(long, value_name = "NAME=COMMAND", conflicts_with = "endpoint")]
    acp_agent: Vec<String>,
    /// What to log to standard error: error, warn, info, debug, trace, or a filter
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,
    #[command(flatten)]
    mock: MockArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command until the editor closes the input.
///
/// # Errors
/// If the server cannot be used or started.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let filter = EnvFilter::try_new(&args.log).with_context(|| format!("invalid filter --log {}", args.log))?;
    // Standard output belongs to the protocol.
    log_to_stderr(filter).with_ansi(false).init();
    let options = AcpOptions::new(&args.agent);
    if let Some(endpoint) = &args.endpoint {
        let client = client(endpoint, token(args.token_file.as_deref())?)?;
        return serve(client, options);
    }
    let data_dir = resolve_data_dir(args.data_dir.clone())?;
    if let Some(server) = find_server(&data_dir) {
        let token = token(args.token_file.as_deref())?;
        let found = data_dir_client(&data_dir, &server, token.clone())?;
        let find = move || data_dir_client(&data_dir, &find_server(&data_dir)?, token.clone()).ok();
        return serve(found, options.find_server(find));
    }
    crate::server::run_for_acp(data_dir, &args.acp_agent, args.mock, args.store, |data_dir, url, token| {
        let file = TokenFile::create(data_dir, token)
            .inspect_err(|error| tracing::warn!(%error, "other programs cannot use this server"))
            .ok();
        let client = client(url, Some(token.to_owned()))?;
        Ok(async move {
            let served = interlingua_acp::serve(client, options, tokio::io::stdin(), tokio::io::stdout()).await;
            drop(file);
            served.context("cannot read the input of the editor")
        })
    })?;
    Ok(Outcome::Success)
}

/// Serves the editor with a server that runs elsewhere.
fn serve(client: Client, options: AcpOptions) -> anyhow::Result<Outcome> {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let served = tokio.block_on(async {
        client.health().await.map_err(crate::sessions::server_args::client_error)?;
        let served = interlingua_acp::serve(client, options, tokio::io::stdin(), tokio::io::stdout()).await;
        served.context("cannot read the input of the editor")
    });
    // The thread that reads standard input cannot be joined.
    tokio.shutdown_background();
    served.map(|()| Outcome::Success)
}

/// A client of the server that runs on a data directory.
fn data_dir_client(data_dir: &Path, server: &ServerInfo, token: Option<String>) -> anyhow::Result<Client> {
    let of_editor = || fs::read_to_string(data_dir.join(TOKEN_FILE)).ok().map(|token| token.trim().to_owned());
    client(&server.address, token.or_else(of_editor))
}

fn client(endpoint: &str, token: Option<String>) -> anyhow::Result<Client> {
    let mut builder = Client::builder(endpoint);
    if let Some(token) = token {
        builder = builder.token(token);
    }
    builder.build().with_context(|| format!("invalid address {endpoint}"))
}

/// The token from the file, or else from the environment.
fn token(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    match file {
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            let token = text.trim();
            if token.is_empty() {
                bail!("{} is empty; expected the token of the server", file.display());
            }
            Ok(Some(token.to_owned()))
        }
        None => Ok(std::env::var("INTERLINGUA_TOKEN").ok().filter(|token| !token.is_empty())),
    }
}

/// The file with which other `interlingua acp` of the same user find the token. It is removed with the server.
#[derive(Debug)]
struct TokenFile(PathBuf);

impl TokenFile {
    fn create(data_dir: &Path, token: &str) -> std::io::Result<Self> {
        let path = data_dir.join(TOKEN_FILE);
        // A file that a killed server left behind may have other permissions.
        let _ = fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        writeln!(file, "{token}")?;
        Ok(Self(path))
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // It may be gone with the data directory.
        let _ = fs::remove_file(&self.0);
    }
}
