//! Address and token of the server.

use anyhow::{Context as _, bail};
use interlingua_client::{Client, ClientError};

use crate::data_dir::resolve_data_dir;
use crate::server_file::find_server;

const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:2468";
const ENDPOINT_HELP: &str = "Address of the server [default: $INTERLINGUA_ENDPOINT, or the server running on the data \
                             directory, or http://127.0.0.1:2468]";

/// Address and token of the server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    #[arg(long, value_name = "URL", global = true, help = ENDPOINT_HELP)]
    endpoint: Option<String>,
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        help = "Data directory in which to look up the server [default: ~/.local/share/interlingua]"
    )]
    data_dir: Option<std::path::PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        help = "File with the server's token [default: the token in $INTERLINGUA_TOKEN]"
    )]
    token_file: Option<std::path::PathBuf>,
}

impl ServerArgs {
    /// The server at an address, with the token of the environment.
    pub(crate) fn for_endpoint(endpoint: String) -> Self {
        Self { endpoint: Some(endpoint), data_dir: None, token_file: None }
    }

    /// A client of the server.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let endpoint = self.endpoint()?;
        let mut builder = Client::builder(&endpoint);
        if let Some(token) = self.token()? {
            builder = builder.token(token);
        }
        match builder.build() {
            Ok(client) => Ok(client),
            Err(ClientError::InvalidBaseUrl { .. }) => {
                bail!("invalid --endpoint {endpoint}; expected an address such as {DEFAULT_ENDPOINT}")
            }
            Err(error) => Err(error.into()),
        }
    }

    fn endpoint(&self) -> anyhow::Result<String> {
        if let Some(endpoint) = &self.endpoint {
            return Ok(endpoint.clone());
        }
        if let Some(dir) = &self.data_dir {
            let server = find_server(dir);
            return server.map(|server| server.address).with_context(|| {
                let dir = dir.display();
                format!(
                    "no server runs on the data directory {dir}; start one with `interlingua server --data-dir {dir}`"
                )
            });
        }
        if let Some(endpoint) = std::env::var("INTERLINGUA_ENDPOINT").ok().filter(|endpoint| !endpoint.is_empty()) {
            return Ok(endpoint);
        }
        let server = resolve_data_dir(None).ok().and_then(|dir| find_server(&dir));
        Ok(server.map_or_else(|| DEFAULT_ENDPOINT.to_owned(), |server| server.address))
    }

    fn token(&self) -> anyhow::Result<Option<String>> {
        match &self.token_file {
            Some(file) => {
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
                Ok(Some(text.trim().to_owned()))
            }
            None => Ok(std::env::var("INTERLINGUA_TOKEN").ok().filter(|token| !token.is_empty())),
        }
    }
}

/// Converts an error of the client. A connection error mentions the options of the command line.
pub(crate) fn client_error(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::Connect { url, reason, .. } => anyhow::anyhow!(
            "cannot connect to the server at {url}: {reason}; start one with `interlingua server --no-token`, or choose \
             another with --endpoint"
        ),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_endpoint_is_refused() {
        for endpoint in ["127.0.0.1:2468", "https://example.com", "mailto:me", ""] {
            let args = ServerArgs { endpoint: Some(endpoint.to_owned()), data_dir: None, token_file: None };
            assert!(args.client().unwrap_err().to_string().contains("--endpoint"), "{endpoint}");
        }
    }
}
