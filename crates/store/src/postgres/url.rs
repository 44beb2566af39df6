//! The address of a database: `postgres://user:password@host:port/database?parameter=value`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::postgres::password;

/// Schema of the tables if the URL names none.
const DEFAULT_SCHEMA: &str = "interlingua";
/// Longest name that Postgres does not cut off.
const MAX_SCHEMA_BYTES: usize = 63;
/// How long connecting may take if the URL does not say.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent data may stay unacknowledged by the database's host before the connection counts as lost.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(15);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// The address of a Postgres database, with the password if it is known. `Debug` and `Display` do not show the password.
#[derive(Clone)]
pub struct StoreUrl {
    pub(crate) config: Config,
    pub(crate) ssl: SslOptions,
    pub(crate) schema: String,
    /// The address without the password and parameters.
    text: String,
}

/// How the connection to the database is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SslOptions {
    pub(crate) check: CertificateCheck,
    /// File with the certificates of the authorities to trust; `None` if the URL names none.
    pub(crate) root_certificates: Option<RootCertificates>,
}

/// The authorities that are trusted to sign the database's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RootCertificates {
    /// Those of the operating system.
    System,
    File(PathBuf),
}

/// What is checked of the certificate of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateCheck {
    /// Nothing: encryption protects against those who only listen.
    Nothing,
    /// That a trusted authority has signed it.
    Authority,
    /// That a trusted authority has signed it for this host.
    AuthorityAndHost,
}

/// Why a text is not the address of a database. The text itself is not shown: it may have a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of the store is invalid: {0}; expected postgres://USER@HOST:PORT/DATABASE")]
pub struct StoreUrlError(pub(crate) String);

impl StoreUrl {
    /// Adds the password from the environment or the password file, unless the URL has one.
    pub(crate) fn load_password(&mut self) -> Result<(), StoreUrlError> {
        if self.config.get_password().is_none()
            && let Some(password) = password::find(&self.config).map_err(StoreUrlError)?
        {
            self.config.password(password);
        }
        Ok(())
    }

    /// The schema of the tables.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.schema
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreUrl").field(&self.text).finish()
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(url: &str) -> Result<Self, StoreUrlError> {
        let invalid = |reason: &str| StoreUrlError(reason.to_owned());
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_postgres {
            return Err(invalid("it does not begin with postgres://"));
        }
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut schema, mut ssl_mode, mut root_certificates) = (DEFAULT_SCHEMA.to_owned(), None, None);
        let mut other = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let text = percent_decode_str(value).decode_utf8().map_err(|_| invalid("a parameter is not UTF-8"))?;
            match name {
                "schema" => schema = check_schema(&text)?,
                "sslmode" => ssl_mode = Some(parse_ssl_mode(&text)?),
                "sslrootcert" if text == "system" => root_certificates = Some(RootCertificates::System),
                "sslrootcert" => root_certificates = Some(RootCertificates::File(text.as_ref().into())),
                _ => other.push(parameter),
            }
        }
        let separator = if other.is_empty() { "" } else { "?" };
        let mut config: Config = format!("{address}{separator}{}", other.join("&"))
            .parse()
            .map_err(|error| StoreUrlError(describe_parse_error(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(invalid("it has no host; the folder of a Unix socket is given as ?host=/run/postgresql"));
        }
        let (mode, mut check) = ssl_mode.unwrap_or((SslMode::Prefer, CertificateCheck::Nothing));
        // As in libpq: who names an authority wants it to be checked.
        if mode == SslMode::Require && root_certificates.is_some() && check == CertificateCheck::Nothing {
            check = CertificateCheck::Authority;
        }
        config.ssl_mode(mode);
        complete(&mut config)?;
        let text = describe(&config);
        Ok(Self { config, ssl: SslOptions { check, root_certificates }, schema, text })
    }
}

/// Sets what the URL leaves open.
fn complete(config: &mut Config) -> Result<(), StoreUrlError> {
    if config.get_user().is_none() {
        let user = std::env::var("PGUSER").or_else(|_| std::env::var("USER"));
        config
            .user(user.map_err(|_| StoreUrlError("it names no user, and neither PGUSER nor USER is set".to_owned()))?);
    }
    if config.get_application_name().is_none() {
        config.application_name("interlingua");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(DEFAULT_CONNECT_TIMEOUT);
    }
    config
        .tcp_user_timeout(TCP_USER_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL);
    Ok(())
}

/// The address as it is shown: without password and parameters.
fn describe(config: &Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| {
            let ports = config.get_ports();
            let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(folder) => format!("{}/.s.PGSQL.{port}", folder.display()),
            }
        })
        .collect();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    format!("postgres://{user}@{}/{database}", hosts.join(","))
}

/// The reason of the parser, which names parameters but never their values.
fn describe_parse_error(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

fn check_schema(name: &str) -> Result<String, StoreUrlError> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let is_name = !name.is_empty()
        && name.len() <= MAX_SCHEMA_BYTES
        && name.chars().all(is_plain)
        && !name.starts_with("pg_")
        && !name.starts_with(|letter: char| letter.is_ascii_digit());
    if is_name {
        return Ok(name.to_owned());
    }
    let expected = "the parameter `schema` is not a name of lower-case letters, digits and underscores";
    Err(StoreUrlError(expected.to_owned()))
}

/// The modes of libpq. `allow` would connect without encryption first; with `prefer`, encryption is tried first.
fn parse_ssl_mode(mode: &str) -> Result<(SslMode, CertificateCheck), StoreUrlError> {
    Ok(match mode {
        "disable" => (SslMode::Disable, CertificateCheck::Nothing),
        "allow" | "prefer" => (SslMode::Prefer, CertificateCheck::Nothing),
        "require" => (SslMode::Require, CertificateCheck::Nothing),
        "verify-ca" => (SslMode::Require, CertificateCheck::Authority),
        "verify-full" => (SslMode::Require, CertificateCheck::AuthorityAndHost),
        _ => {
            let expected = "expected `sslmode` to be disable, allow, prefer, require, verify-ca or verify-full";
            return Err(StoreUrlError(expected.to_owned()));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> StoreUrl {
        url.parse().unwrap()
    }

    #[test]
    fn the_password_is_not_shown() {
        let url = parse("postgres://user:s3cret%40@db.example:6432/events?schema=team_a&sslmode=require");
        assert_eq!(url.to_string(), "postgres://user@db.example:6432/events");
        assert!(!format!("{url:?}").contains("s3cret"));
        assert_eq!(url.config.get_password(), Some(b"s3cret@".as_slice()));
        assert_eq!(url.schema(), "team_a");
        assert_eq!(parse("postgres://u@h/d").schema(), "interlingua");
    }

    #[test]
    fn a_socket_folder_is_a_host() {
        let url = parse("postgresql:///events?host=/run/postgresql&user=me&port=5433");
        assert_eq!(url.to_string(), "postgres://me@/run/postgresql/.s.PGSQL.5433/events");
    }

    #[test]
    fn the_modes_of_libpq_are_honoured() {
        use CertificateCheck::{Authority, AuthorityAndHost, Nothing};
        for (parameters, mode, check) in [
            ("", SslMode::Prefer, Nothing),
            ("sslmode=disable", SslMode::Disable, Nothing),
            ("sslmode=prefer", SslMode::Prefer, Nothing),
            ("sslmode=require", SslMode::Require, Nothing),
            ("sslmode=require&sslrootcert=/ca.pem", SslMode::Require, Authority),
            ("sslmode=verify-ca&sslrootcert=system", SslMode::Require, Authority),
            ("sslmode=verify-full", SslMode::Require, AuthorityAndHost),
        ] {
            let url = parse(&format!("postgres://u@h/d?{parameters}"));
            assert_eq!((url.config.get_ssl_mode(), url.ssl.check), (mode, check), "{parameters}");
        }
        let file = parse("postgres://u@h/d?sslrootcert=%2Fetc%2Fca.pem").ssl.root_certificates;
        assert_eq!(file, Some(RootCertificates::File("/etc/ca.pem".into())));
    }

    #[test]
    fn an_invalid_address_is_refused_without_showing_it() {
        for url in [
            "",
            "mysql://u:s3cret@h/d",
            "postgres://u:s3cret@/d",
            "postgres://u:s3cret@h:port/d",
            "postgres://u:s3cret@h/d?sslmode=maybe",
            "postgres://u:s3cret@h/d?schema=Team",
            "postgres://u:s3cret@h/d?schema=pg_catalog",
            "postgres://u:s3cret@h/d?pasword=s3cret",
        ] {
            let error = url.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains("postgres://USER@HOST") && !error.contains("s3cret"), "{url}: {error}");
        }
    }
}
