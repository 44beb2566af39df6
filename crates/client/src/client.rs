//! The client: address, token, and sending requests.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use crate::error::{ClientError, ProblemDocument};
use crate::frames::FrameStream;

/// Start of an address that is a Unix socket.
const UNIX_SOCKET: &str = "unix:";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of one server. Cloning it is cheap, and clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base_url: Url,
    authorization: Option<HeaderValue>,
}

/// Builder of a [`Client`].
#[derive(Clone, Debug)]
pub struct ClientBuilder {
    base_url: String,
    token: Option<String>,
    http: Option<reqwest::Client>,
}

impl ClientBuilder {
    /// Sets the server's token. The default is none, for a server that was started with `--no-token`.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the HTTP client. The default uses no proxy and no TLS.
    ///
    /// An `https` base URL needs a client with TLS. A request timeout of that client also ends event streams.
    #[must_use]
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Builds the client. Does not connect yet.
    ///
    /// # Errors
    ///
    /// If the base URL is not a valid address of a server, or the token cannot be sent in a header.
    pub fn build(self) -> Result<Client, ClientError> {
        let invalid = |reason: String| ClientError::InvalidBaseUrl { url: self.base_url.clone(), reason };
        let socket = self.base_url.strip_prefix(UNIX_SOCKET);
        if socket.is_some_and(str::is_empty) {
            return Err(invalid("expected the path of a socket after `unix:`".to_owned()));
        }
        // The host has no meaning for a socket, but every request has one.
        let base_url = Url::parse(if socket.is_some() { "http://localhost" } else { &self.base_url })
            .map_err(|error| invalid(error.to_string()))?;
        match base_url.scheme() {
            "http" => {}
            "https" if self.http.is_some() => {}
            "https" => {
                return Err(invalid("https needs an HTTP client with TLS (ClientBuilder::http_client)".to_owned()));
            }
            scheme => return Err(invalid(format!("the scheme {scheme} is not supported"))),
        }
        let authorization = self.token.map(|token| authorization(&token)).transpose()?;
        let http = match self.http {
            Some(http) => http,
            None => {
                default_http_client(socket).map_err(|error| ClientError::from_reqwest(base_url.as_str(), &error))?
            }
        };
        Ok(Client { http, base_url, authorization })
    }
}

fn authorization(token: &str) -> Result<HeaderValue, ClientError> {
    if token.is_empty() {
        return Err(ClientError::InvalidToken);
    }
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ClientError::InvalidToken)?;
    value.set_sensitive(true);
    Ok(value)
}

fn default_http_client(socket: Option<&str>) -> Result<reqwest::Client, reqwest::Error> {
    // The server is usually on this machine, which a proxy cannot reach.
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).connect_timeout(CONNECT_TIMEOUT);
    match socket {
        Some(path) => client.unix_socket(path).build(),
        None => client.build(),
    }
}

impl Client {
    /// A client of the server at `base_url`, without a token.
    ///
    /// # Errors
    ///
    /// If the base URL is not a valid address of a server.
    pub fn new(base_url: impl Into<String>) -> Result<Self, ClientError> {
        Self::builder(base_url).build()
    }

    /// Builder of a client of the server at `base_url`, e.g. `http://127.0.0.1:2468`, or `unix:/run/interlingua.sock` for a
    /// Unix socket. With [`ClientBuilder::http_client`], a Unix socket has to be set there.
    #[must_use]
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder { base_url: base_url.into(), token: None, http: None }
    }

    /// Address of the server.
    #[must_use]
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// A request with the client's token, for endpoints without a method here.
    ///
    /// `path`, e.g. `/v1/health`, is appended to the base URL unchanged. [`Client::execute`] sends the request.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.authorize(self.http.request(method, format!("{}{path}", self.base_url.as_str().trim_end_matches('/'))))
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or answers with an error status.
    pub async fn execute(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.request_error(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let url = response.url().to_string();
        let body = response.bytes().await.map_err(|error| self.request_error(&error))?;
        Err(match serde_json::from_slice::<ProblemDocument>(&body) {
            Ok(problem) => ClientError::Problem(Box::new(problem)),
            Err(_) => unexpected_response(url, status, "expected a problem document"),
        })
    }

    /// Sends a request whose answer is a stream of server-sent events.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or the answer is not such a stream.
    pub async fn execute_stream(&self, request: RequestBuilder) -> Result<FrameStream, ClientError> {
        FrameStream::open(self, request).await
    }

    /// A request for a path under `/v1`, given as segments. Segments may contain any character.
    pub(crate) fn endpoint(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, Option<String>)],
    ) -> Result<RequestBuilder, ClientError> {
        if let Some(id) = segments.iter().find(|segment| matches!(**segment, "." | "..")) {
            return Err(ClientError::InvalidId { id: (*id).to_owned() });
        }
        let mut url = self.base_url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        let pairs = query.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        if pairs.clone().next().is_some() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        Ok(self.authorize(self.http.request(method, url)))
    }

    /// Sends a request and decodes the JSON of the answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let response = self.execute(request).await?;
        let (url, status) = (response.url().to_string(), response.status());
        let body = response.bytes().await.map_err(|error| self.request_error(&error))?;
        serde_json::from_slice(&body).map_err(|error| unexpected_response(url, status, error.to_string()))
    }

    /// Sends a request and ignores the content of the answer.
    pub(crate) async fn execute_empty(&self, request: RequestBuilder) -> Result<(), ClientError> {
        self.execute(request).await.map(drop)
    }

    pub(crate) fn request_error(&self, error: &reqwest::Error) -> ClientError {
        ClientError::from_reqwest(self.base_url.as_str(), error)
    }

    fn authorize(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        }
    }
}

fn unexpected_response(url: String, status: StatusCode, reason: impl Into<String>) -> ClientError {
    ClientError::UnexpectedResponse { url, status: status.as_u16(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_any_characters_is_one_segment() {
        let client = Client::new("http://127.0.0.1:1/base/").unwrap();
        let query = [("limit", Some("2".to_owned())), ("cursor", None)];
        let request = client.endpoint(Method::GET, &["sessions", "a/b?c d%ü", "events"], &query).unwrap();
        assert_eq!(
            request.build().unwrap().url().as_str(),
            "http://127.0.0.1:1/base/v1/sessions/a%2Fb%3Fc%20d%25%C3%BC/events?limit=2"
        );
        let refused = client.endpoint(Method::GET, &["sessions", ".."], &[]);
        assert!(matches!(refused, Err(ClientError::InvalidId { id }) if id == ".."));
    }

    #[test]
    fn a_path_is_appended_to_the_base_url_unchanged() {
        let client = Client::new("http://127.0.0.1:1/base/").unwrap();
        let request = client.request(Method::GET, "/v1/sessions/%2F").build().unwrap();
        assert_eq!(request.url().as_str(), "http://127.0.0.1:1/base/v1/sessions/%2F");
    }

    #[test]
    fn an_invalid_base_url_is_refused_with_an_example() {
        for base_url in ["127.0.0.1:2468", "https://example.com", "mailto:me", "", "unix:"] {
            let error = Client::new(base_url).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:2468"), "{error}");
        }
        let tls = Client::builder("https://example.com").http_client(reqwest::Client::new());
        assert_eq!(tls.build().unwrap().base_url().as_str(), "https://example.com/");
    }

    #[test]
    fn a_token_is_sent_and_not_shown() {
        let client = Client::builder("http://127.0.0.1:1").token("s3cret").build().unwrap();
        let request = client.request(Method::GET, "/v1/agents").build().unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer s3cret");
        assert!(!format!("{client:?}").contains("s3cret"));
        for token in ["", "two\nlines"] {
            let refused = Client::builder("http://127.0.0.1:1").token(token).build();
            assert!(matches!(refused, Err(ClientError::InvalidToken)));
        }
    }

    #[tokio::test]
    async fn a_connection_error_names_address_and_remedy() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = Client::new(format!("http://{unused}")).unwrap().health().await.unwrap_err();
        assert!(error.is_temporary());
        let message = error.to_string();
        assert!(message.contains(&unused.to_string()) && message.contains("`interlingua server`"), "{message}");
    }
}
