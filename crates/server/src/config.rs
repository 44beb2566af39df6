//! How the server is set up.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use subtle::ConstantTimeEq;

/// How the server is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Who may use it.
    pub access: Access,
    /// Web pages of these origins may use it from a browser.
    pub allowed_origins: Vec<WebOrigin>,
}

impl ServerConfig {
    /// A server that web pages may not use.
    #[must_use]
    pub fn new(access: Access) -> Self {
        Self { access, allowed_origins: Vec::new() }
    }

    /// Lets web pages of these origins use it from a browser.
    #[must_use]
    pub fn allowed_origins(mut self, origins: Vec<WebOrigin>) -> Self {
        self.allowed_origins = origins;
        self
    }
}

/// Who may use the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Access {
    /// Whoever has the token.
    Token(Token),
    /// Every process on this machine, but no web page: the server listens on a loopback address only, and looks at
    /// `Host` and `Origin`.
    Loopback,
}

/// Where a web page comes from: `https://example.com`, `http://localhost:5173`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin(String);

/// A text that is not an origin.
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
        let refused = || WebOriginError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| refused())?;
        let parts = uri.scheme().zip(uri.authority()).filter(|_| uri.path() == "/" && uri.query().is_none());
        let (scheme, authority) = parts.ok_or_else(refused)?;
        if authority.as_str().contains(['@', '*']) {
            return Err(refused());
        }
        Ok(Self(format!("{scheme}://{authority}").to_ascii_lowercase()))
    }
}

/// The server's secret.
#[derive(Clone)]
pub struct Token(String);

/// Why a text cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// There is nothing in it.
    #[error("the token is empty")]
    Empty,
    /// It could not be sent in a header.
    #[error("the token has spaces or characters outside ASCII, which no Authorization header can carry")]
    Unsendable,
}

impl Token {
    /// A token of this text.
    ///
    /// # Errors
    ///
    /// If no client could send it.
    pub fn new(text: impl Into<String>) -> Result<Self, TokenError> {
        let text = text.into();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unsendable);
        }
        Ok(Self(text))
    }

    /// Whether `given` is the token. Takes as long for a near miss as for a wild guess.
    pub(crate) fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// Secrets are not shown.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_and_not_shown() {
        let token = Token::new("s3cret").unwrap();
        assert!(token.is("s3cret"));
        assert!(!token.is("s3cre") && !token.is("s3creT") && !token.is(""));
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
    fn what_no_header_can_carry_is_no_token() {
        assert_eq!(Token::new("").unwrap_err(), TokenError::Empty);
        assert_eq!(Token::new("two words").unwrap_err(), TokenError::Unsendable);
        assert_eq!(Token::new("schlüssel").unwrap_err(), TokenError::Unsendable);
    }
}
