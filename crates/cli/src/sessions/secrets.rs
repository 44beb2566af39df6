//! `interlingua sessions secrets`: supplies the values that a server does not store.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use interlingua_client::{Client, SecretsRequest};
use serde_json::{Value, json};

use super::print;
use super::server_args::client_error;
use crate::Outcome;
use crate::session_args::{parse_json, read_json};

/// Parses the name of a variable. A value is refused: the arguments of a process are visible to other users.
pub(super) fn parse_name(argument: &str) -> Result<String, String> {
    match argument.split_once('=') {
        None => Ok(argument.to_owned()),
        Some((name, _)) => Err(format!(
            "expected a name without a value, because other users can see arguments; set the variable and use --env {name}"
        )),
    }
}

/// Reads the values from the environment and a file, or from standard input. `None` if no source was given.
pub(super) fn read(env: &[String], mcp: Option<&Path>, stdin: bool) -> anyhow::Result<Option<SecretsRequest>> {
    let mut secrets = SecretsRequest::default();
    if stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        let mut given = parse_json("standard input", &text)?;
        let mut take = |field: &str| given.get_mut(field).map(Value::take).filter(|value| !value.is_null());
        secrets.mcp = take("mcp");
        // serde's message would contain a value.
        if let Ok(env) = take("env").map(serde_json::from_value).transpose() {
            secrets.env = env.unwrap_or_default();
            if secrets != SecretsRequest::default() {
                return Ok(Some(secrets));
            }
        }
        bail!(r#"expected {{"env": {{"NAME": "value"}}, "mcp": {{…}}}} on standard input"#);
    }
    for name in env {
        let Ok(value) = std::env::var(name) else {
            bail!("--env {name}: the variable is not set, or is not UTF-8; set it, or supply the value with --stdin");
        };
        secrets.env.insert(name.clone(), value);
    }
    secrets.mcp = mcp.map(read_json).transpose()?;
    Ok((secrets != SecretsRequest::default()).then_some(secrets))
}

/// Supplies values, and prints which ones are still missing.
pub(super) async fn hand_in(
    client: &Client,
    id: &str,
    secrets: &SecretsRequest,
    json: bool,
) -> anyhow::Result<Outcome> {
    client.set_secrets(id, secrets).await.map_err(client_error)?;
    list_missing(client, id, json).await
}

/// Prints the names of the values that a session waits for.
pub(super) async fn list_missing(client: &Client, id: &str, json: bool) -> anyhow::Result<Outcome> {
    let missing = client.session(id).await.map_err(client_error)?.secrets_missing;
    if json {
        return print(&json!({ "secretsMissing": missing }).to_string());
    }
    match missing.as_slice() {
        [] => print(&format!("{id} waits for no values")),
        missing => print(&format!("{id} waits for {}", missing.join(", "))),
    }
}
