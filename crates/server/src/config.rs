//! Configuration of the server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use crate::ServerError;
use crate::compat::Compat;
use crate::tokens::NamedTokens;

/// Configuration of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Who may use the server.
    pub access: Access,
    /// Tokens with names and scopes, besides the server's own token.
    pub named_tokens: Option<NamedTokens>,
    /// Origins of web pages that may use the server from a browser.
    pub allowed_origins: Vec<WebOrigin>,
    /// Files that clients may use, besides those of sessions; `None` if they may use no files at all.
    pub files: Option<FileRoots>,
    /// Sessions that have not changed for this time are deleted; `None` if all are kept.
    pub retain: Option<Duration>,
    /// Another API whose clients work with the server.
    pub compat: Option<Compat>,
    /// Folders with the sessions that agents keep on disk; `None` for the agents' own folders.
    pub history_folders: Option<Vec<PathBuf>>,
}

impl ServerConfig {
    /// A configuration that allows no web pages, and no use of files.
    #[must_use]
    pub fn new(access: Access) -> Self {
        Self {
            access,
            named_tokens: None,
            allowed_origins: Vec::new(),
            files: None,
            retain: None,
            compat: None,
            history_folders: None,
        }
    }

    /// Sets another API whose clients work with the server.
    #[must_use]
    pub fn compat(mut self, compat: Option<Compat>) -> Self {
        self.compat = compat;
        self
    }

    /// Sets the time after which sessions that have not changed are deleted. Those that work, and those with the label
    /// `pinned=true`, are kept.
    #[must_use]
    pub fn retain(mut self, retain: Option<Duration>) -> Self {
        self.retain = retain;
        self
    }

    /// Sets the files that clients may use.
    #[must_use]
    pub fn files(mut self, files: Option<FileRoots>) -> Self {
        self.files = files;
        self
    }

    /// Sets the tokens with names and scopes. They have no meaning for [`Access::Loopback`].
    #[must_use]
    pub fn named_tokens(mut self, tokens: NamedTokens) -> Self {
        self.named_tokens = Some(tokens);
        self
    }

    /// Sets the origins of web pages that may use the server from a browser.
    #[must_use]
    pub fn allowed_origins(mut self, origins: Vec<WebOrigin>) -> Self {
        self.allowed_origins = origins;
        self
    }

    /// Sets the folders with the sessions that agents keep on disk.
    #[must_use]
    pub fn history_folders(mut self, folders: Vec<PathBuf>) -> Self {
        self.history_folders = Some(folders);
        self
    }

    /// Checks that a server with this configuration may listen on `address`.
    ///
    /// # Errors
    ///
    /// If there is no token and the address is not a loopback address.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), ServerError> {
        if matches!(self.access, Access::Loopback) && !address.ip().is_loopback() {
            return Err(ServerError::NotLoopback(address));
        }
        Ok(())
    }
}

/// The configuration of a running server, which can be replaced. Cloning it copies a pointer.
#[derive(Clone, Debug)]
pub struct SharedConfig(watch::Sender<Arc<ServerConfig>>);

impl SharedConfig {
    /// The current configuration.
    #[must_use]
    pub fn load(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.borrow())
    }

    /// Replaces the configuration. Requests that come later use the new one. Allowed origins and the other API cannot be
    /// replaced.
    ///
    /// The caller has [checked](ServerConfig::check_address) the addresses of the listeners.
    pub fn replace(&self, config: ServerConfig) {
        self.0.send_replace(Arc::new(config));
    }

    /// Learns when the configuration is replaced.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<ServerConfig>> {
        self.0.subscribe()
    }
}

impl From<ServerConfig> for SharedConfig {
    fn from(config: ServerConfig) -> Self {
        Self(watch::Sender::new(Arc::new(config)))
    }
}

/// Directories whose files clients may use without naming a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRoots(Vec<PathBuf>);

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the files of {}: {source}", path.display())]
#[non_exhaustive]
pub struct FileRootsError {
    /// The directory.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl FileRoots {
    /// The files of these directories. Without any, clients can use only the files of sessions.
    ///
    /// # Errors
    ///
    /// If one of them is not a directory.
    pub fn new(directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, FileRootsError> {
        let check = |path: &Path| {
            let absolute = std::path::absolute(path)?;
            if std::fs::metadata(&absolute)?.is_dir() { Ok(absolute) } else { Err(io::ErrorKind::NotADirectory.into()) }
        };
        let directories = directories.into_iter().map(|path| {
            check(path.as_ref()).map_err(|source| FileRootsError { path: path.as_ref().to_owned(), source })
        });
        Ok(Self(directories.collect::<Result<_, _>>()?))
    }

    /// The directories, as absolute paths.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }
}

/// Who may use the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Access {
    /// Clients that send the token, which allows everything, or one of the named tokens.
    Token(Token),
    /// Clients that send one of the named tokens.
    NamedTokens,
    /// Every process on this machine, but no web page: the server listens on a loopback address only, and checks `Host`
    /// and `Origin`.
    Loopback,
}

/// Origin of a web page, e.g. `https://example.com` or `http://localhost:5173`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(String);

/// Error: the text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an origin such as https://example.com or http://localhost:5173, found {0:?}")]
pub struct WebOriginError(String);

impl WebOrigin {
    /// The origin as browsers write it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WebOrigin {
    type Err = WebOriginError;

    fn from_str(text: &str) -> Result<Self, WebOriginError> {
        let invalid = || WebOriginError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        let parts = uri.scheme().zip(uri.authority()).filter(|_| uri.path() == "/" && uri.query().is_none());
        let (scheme, authority) = parts.ok_or_else(invalid)?;
        if authority.as_str().contains(['@', '*']) {
            return Err(invalid());
        }
        Ok(Self(format!("{scheme}://{authority}").to_ascii_lowercase()))
    }
}

/// The server's secret token.
#[derive(Clone)]
pub struct Token(String);

/// Why a text cannot be used as a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is empty.
    #[error("the token is empty")]
    Empty,
    /// It contains characters that cannot be sent in a header.
    #[error("the token contains spaces or non-ASCII characters, which cannot be sent in an Authorization header")]
    InvalidCharacters,
}

impl Token {
    /// Creates a token from its text.
    ///
    /// # Errors
    ///
    /// If a client could not send it in a header.
    pub fn new(text: impl Into<String>) -> Result<Self, TokenError> {
        let text = text.into();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::InvalidCharacters);
        }
        Ok(Self(text))
    }

    /// Whether `given` is the token. Compares in constant time, so that the duration does not reveal the token.
    pub(crate) fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// Does not show the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_compared_and_not_shown() {
        let token = Token::new("s3cret").unwrap();
        assert!(token.matches("s3cret"));
        assert!(!token.matches("s3cre") && !token.matches("s3creT") && !token.matches(""));
        assert!(!format!("{token:?}").contains("s3"));
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        for (text, origin) in [
            ("https://App.example", "https://app.example"),
            ("http://localhost:5173/", "http://localhost:5173"),
            ("tauri://localhost", "tauri://localhost"),
        ] {
            assert_eq!(text.parse::<WebOrigin>().unwrap().as_str(), origin);
        }
        for text in ["*", "", "example.com", "https://a.example/page", "https://*.example", "https://u@a.example"] {
            assert!(text.parse::<WebOrigin>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_that_cannot_be_sent_is_refused() {
        assert_eq!(Token::new("").unwrap_err(), TokenError::Empty);
        assert_eq!(Token::new("two words").unwrap_err(), TokenError::InvalidCharacters);
        assert_eq!(Token::new("schlüssel").unwrap_err(), TokenError::InvalidCharacters);
    }
}
