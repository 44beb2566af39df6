//! Errors of Postgres: what they mean for a caller, and one clear line for the person who starts a server.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::postgres::url::StoreUrl;
use crate::{OpenError, StoreError};

/// Why requests to the database failed.
#[derive(Debug)]
pub(crate) enum DbError {
    /// The database or the connection to it.
    Postgres(Error),
    /// The database did not answer in time.
    Timeout,
    /// The store refuses the request, and has changed nothing.
    Refused(StoreError),
}

impl From<Error> for DbError {
    fn from(error: Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl DbError {
    /// Whether the same request may succeed on a new connection, or a little later: the database was not reached, is
    /// starting or stopping, has no connection left, or others were in the way.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Timeout => true,
            Self::Refused(_) => false,
            Self::Postgres(error) => is_temporary(error),
        }
    }

    /// The database's own words, which `Display` of the error leaves out.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Postgres(error) => describe(error),
            Self::Timeout => "it did not answer in time".to_owned(),
            Self::Refused(error) => error.to_string(),
        }
    }
}

fn is_temporary(error: &Error) -> bool {
    let Some(code) = error.code() else {
        // Without a code, the error is one of the connection, unless it is one of this program.
        return error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
    };
    let temporary = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::INSUFFICIENT_RESOURCES,
        SqlState::OUT_OF_MEMORY,
        SqlState::QUERY_CANCELED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::IO_ERROR,
    ];
    // Class 08 is "connection exception".
    temporary.contains(code) || code.code().starts_with("08")
}

fn describe(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(database), _) => {
            let detail = database.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            format!("{}{detail}", database.message())
        }
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

impl From<DbError> for StoreError {
    fn from(error: DbError) -> Self {
        let reason = error.describe();
        let code = match &error {
            DbError::Refused(_) | DbError::Timeout => None,
            DbError::Postgres(error) => error.code(),
        };
        match code {
            Some(&SqlState::DISK_FULL) => Self::DiskFull(reason),
            Some(&SqlState::TOO_MANY_CONNECTIONS) => {
                Self::Unavailable(format!("{reason}; raise max_connections, or lower --store-connections"))
            }
            _ if error.is_temporary() => Self::Unavailable(reason),
            _ => match error {
                DbError::Refused(error) => error,
                DbError::Postgres(_) | DbError::Timeout => Self::Database(reason),
            },
        }
    }
}

/// Why a database cannot be used, with what to do about it.
pub(crate) fn open_error(url: &StoreUrl, error: &DbError) -> OpenError {
    let user = url.config.get_user().unwrap_or_default();
    let schema = url.schema();
    let reason = error.describe();
    let code = match error {
        DbError::Postgres(error) => error.code(),
        DbError::Timeout | DbError::Refused(_) => None,
    };
    let remedy = match code {
        Some(&(SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION)) => {
            "check the user, and the password in the URL, PGPASSWORD or PGPASSFILE".to_owned()
        }
        Some(&SqlState::UNDEFINED_DATABASE) => "create it with `createdb`, or correct the name in --store".to_owned(),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => format!(
            "let its owner run `CREATE SCHEMA {schema} AUTHORIZATION {user}`, or grant {user} what docs/fleet.md lists"
        ),
        Some(&SqlState::TOO_MANY_CONNECTIONS) => {
            "raise max_connections of the database, or lower --store-connections of the servers".to_owned()
        }
        Some(&SqlState::DISK_FULL) => "free space on the disk of the database".to_owned(),
        Some(_) if error.is_temporary() => "wait until the database is ready, and start the server again".to_owned(),
        Some(_) => "see the log of the database".to_owned(),
        None if is_tls_error(error) => {
            "check sslmode and sslrootcert in --store, and the certificate of the database".to_owned()
        }
        None => "check that it runs, and the address in --store".to_owned(),
    };
    OpenError::Postgres { database: url.to_string(), reason, remedy }
}

/// Whether encryption is the problem: the database has none, or its certificate is refused.
fn is_tls_error(error: &DbError) -> bool {
    let DbError::Postgres(error) = error else { return false };
    // The library has no other way to tell its errors of the handshake.
    error.code().is_none() && error.to_string().contains("TLS")
}
