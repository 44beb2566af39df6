//! `interlingua tokens`: add, list and revoke the named tokens of a server.

use std::io::Write as _;
use std::path::PathBuf;

use interlingua_schema::Timestamp;
use interlingua_server::{NamedToken, Scope, TokenFile};
use serde_json::json;

use crate::Outcome;
use crate::data_dir::resolve_data_dir;
use crate::output::Output;

/// Add, list and revoke the tokens with which people and programs use a server.
///
/// Each token has a name, which the server's log and `permission.resolved` events show, and scopes. The data directory has
/// only the hashes of the tokens. A running server notices changes with the next request.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Scopes:
  read    every GET request, except /metrics
  drive   create and change sessions, send messages, answer requests
  admin   everything, also install agents, delete sessions and read /metrics

Examples:
  interlingua tokens add ci --scope read --scope drive
  interlingua tokens add grafana --scope admin
  interlingua tokens list
  interlingua tokens revoke ci")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Directory of the server's sessions [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a token and print it. It is not stored, so it cannot be shown again
    Add {
        /// Name of the token: letters, digits, `-`, `_` and `.`
        name: String,
        /// What the token may be used for; can be repeated
        #[arg(long, value_name = "SCOPE", default_values = ["read", "drive"])]
        scope: Vec<Scope>,
    },
    /// List the tokens, without the tokens themselves
    List,
    /// Revoke a token: the server refuses it from the next request on
    Revoke {
        /// Name of the token
        name: String,
    },
}

/// Runs the command.
///
/// # Errors
/// If the tokens cannot be read or changed.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let file = TokenFile::new(&resolve_data_dir(args.data_dir)?);
    let lines = match args.command {
        Command::Add { name, scope } => {
            let token = file.add(&name, scope.into_iter().collect())?;
            if args.json { vec![json!({ "name": name, "token": token }).to_string()] } else { vec![token] }
        }
        Command::Revoke { name } => {
            file.revoke(&name)?;
            if args.json { vec![json!({ "ok": true }).to_string()] } else { vec![format!("revoked {name}")] }
        }
        Command::List => {
            let tokens = file.load()?;
            if args.json {
                tokens.iter().map(to_json).collect()
            } else if tokens.is_empty() {
                vec!["no tokens; make one with `interlingua tokens add NAME`".to_owned()]
            } else {
                tokens.iter().map(to_text).collect()
            }
        }
    };
    let mut output = Output::new();
    for line in lines {
        writeln!(output, "{line}")?;
    }
    output.flush()?;
    Ok(Outcome::Success)
}

fn to_json(token: &NamedToken) -> String {
    json!({ "name": token.name, "scopes": token.scopes, "createdAt": created_at(token) }).to_string()
}

fn to_text(token: &NamedToken) -> String {
    let scopes = token.scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(",");
    format!("{:<24} {scopes:<18} {}", token.name, created_at(token))
}

fn created_at(token: &NamedToken) -> String {
    let millis = i64::try_from(token.created_at.saturating_mul(1000)).unwrap_or(i64::MAX);
    Timestamp::from_millis(millis).to_string()
}
