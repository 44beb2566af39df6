//! A client of the HTTP API.

use std::fmt;

use anyhow::{Context as _, bail};
use reqwest::{Method, RequestBuilder, Response, Url, header};
use serde::Deserialize;
use serde_json::Value;

/// What `--endpoint` is.
const ENDPOINT: &str = "Where the server is [default: $INTERLINGUA_ENDPOINT, or http://127.0.0.1:2468]";

/// Which server, and how to get in.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    #[arg(long, value_name = "URL", global = true, help = ENDPOINT)]
    endpoint: Option<String>,
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        help = "A file with the server's token [default: $INTERLINGUA_TOKEN]"
    )]
    token_file: Option<std::path::PathBuf>,
}

/// A client of one server.
pub(super) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
}

/// What the server says when it refuses.
#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.rsplit(':').next().unwrap_or_default();
        let detail = if self.detail.is_empty() { &self.title } else { &self.detail };
        write!(f, "{detail} ({kind}, {})", self.status)
    }
}

impl std::error::Error for Problem {}

impl Client {
    pub(super) fn new(args: &ServerArgs) -> anyhow::Result<Self> {
        let endpoint = args
            .endpoint
            .clone()
            .or_else(|| std::env::var("INTERLINGUA_ENDPOINT").ok())
            .unwrap_or_else(|| "http://127.0.0.1:2468".to_owned());
        let base = Url::parse(&endpoint).with_context(|| format!("--endpoint {endpoint}"))?;
        if base.scheme() != "http" || base.cannot_be_a_base() {
            bail!("--endpoint {endpoint}: expected an address such as http://127.0.0.1:2468");
        }
        let token = match &args.token_file {
            Some(file) => {
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
                Some(text.trim().to_owned())
            }
            None => std::env::var("INTERLINGUA_TOKEN").ok().filter(|token| !token.is_empty()),
        };
        // A server on this machine is not reached through a proxy.
        let http = reqwest::Client::builder().no_proxy().build().context("cannot make an HTTP client")?;
        Ok(Self { http, base, token })
    }

    /// A request for the path that consists of these segments under `/v1`.
    pub(super) fn request(&self, method: Method, segments: &[&str]) -> anyhow::Result<RequestBuilder> {
        self.request_with(method, segments, &[])
    }

    /// The same with a query.
    pub(super) fn request_with(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, String)],
    ) -> anyhow::Result<RequestBuilder> {
        if let Some(dots) = segments.iter().find(|segment| matches!(**segment, "." | "..")) {
            bail!("`{dots}` cannot be part of an address");
        }
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.request(method, url);
        Ok(match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        })
    }

    /// Sends a request. Anything but success is an error: the server's problem, or that there is no server.
    pub(super) async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.text().await.unwrap_or_default();
        match serde_json::from_str::<Problem>(&body) {
            Ok(problem) => Err(problem.into()),
            Err(_) => bail!("{} answered {status}, and not as this API does", self.base),
        }
    }

    /// Sends a request and reads the JSON that comes back.
    pub(super) async fn json(&self, request: RequestBuilder) -> anyhow::Result<Value> {
        let response = self.send(request).await?;
        response.json().await.context("the server's answer is not JSON")
    }

    fn unreachable(&self, error: &reqwest::Error) -> anyhow::Error {
        if error.is_connect() {
            return anyhow::anyhow!(
                "there is no server at {}: `interlingua server --no-token` starts one, --endpoint names another",
                self.base
            );
        }
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(deeper) = cause {
            reason = deeper.to_string();
            cause = deeper.source();
        }
        anyhow::anyhow!("{} cannot be reached: {reason}", self.base)
    }
}

/// Whether trying again cannot help: the server answered, and refused.
pub(super) fn is_refusal(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.status < 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(endpoint: &str) -> anyhow::Result<Client> {
        Client::new(&ServerArgs { endpoint: Some(endpoint.to_owned()), token_file: None })
    }

    #[test]
    fn an_id_is_one_segment_whatever_is_in_it() {
        let client = client("http://127.0.0.1:1/base/").unwrap();
        let request = client.request(Method::GET, &["sessions", "a/b?c d%ü", "events"]).unwrap().build().unwrap();
        assert_eq!(request.url().as_str(), "http://127.0.0.1:1/base/v1/sessions/a%2Fb%3Fc%20d%25%C3%BC/events");
        assert!(client.request(Method::GET, &["sessions", ".."]).is_err());
    }

    #[test]
    fn an_endpoint_is_an_http_address() {
        for bad in ["127.0.0.1:2468", "https://example.com", "mailto:me", ""] {
            assert!(client(bad).is_err(), "{bad}");
        }
    }
}
