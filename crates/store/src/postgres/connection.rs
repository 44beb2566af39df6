//! One connection to the database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Connection, Row, Socket, Statement};

use crate::postgres::error::DbError;
use crate::postgres::tls::Tls;
use crate::postgres::url::StoreUrl;

/// Parameters of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

type RawConnection = Connection<Socket, <Tls as MakeTlsConnect<Socket>>::Stream>;

/// Settings of every connection: what is sent once when it is made.
///
/// A transaction whose process is stopped in the middle must not hold its locks for long: others wait for them.
///
/// `synchronous_commit = off` would lose acknowledged events when the database crashes. Its other values are the
/// decision of the administrator.
const SETTINGS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '20s'; \
     SET idle_in_transaction_session_timeout = '5s'; SET default_transaction_isolation = 'read committed'; SET jit = off; \
     SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'; ";

/// Makes connections.
pub(crate) struct Connector {
    url: StoreUrl,
    tls: Tls,
    settings: String,
}

impl Connector {
    pub(crate) fn new(url: StoreUrl, tls: Tls) -> Self {
        let settings = format!("{SETTINGS}SET search_path = {}", url.schema());
        Self { url, tls, settings }
    }

    /// Connects. The connection is closed when the returned value is dropped.
    pub(crate) async fn connect(&self) -> Result<DbClient, DbError> {
        let (client, connection) = self.url.config.connect(self.tls.clone()).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the database was closed");
            }
        });
        self.set_up(client).await
    }

    /// Connects without reading what arrives: the caller does.
    pub(crate) async fn connect_raw(&self) -> Result<(Client, RawConnection), DbError> {
        Ok(self.url.config.connect(self.tls.clone()).await?)
    }

    async fn set_up(&self, client: Client) -> Result<DbClient, DbError> {
        client.batch_execute(&self.settings).await?;
        Ok(DbClient { client, statements: Mutex::default(), is_in_transaction: AtomicBool::new(false) })
    }
}

/// An open connection, and the statements that were prepared on it.
pub(crate) struct DbClient {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    is_in_transaction: AtomicBool,
}

impl DbClient {
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether the connection is open and has no open transaction.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_closed() && !self.is_in_transaction.load(Ordering::SeqCst)
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&self) -> Result<(), DbError> {
        self.is_in_transaction.store(true, Ordering::SeqCst);
        self.run("BEGIN").await
    }

    /// Commits the transaction. If one of its statements has failed, Postgres rolls it back and reports no error here.
    pub(crate) async fn commit(&self) -> Result<(), DbError> {
        self.run("COMMIT").await?;
        self.is_in_transaction.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Rolls the transaction back, if there is one.
    pub(crate) async fn rollback(&self) -> Result<(), DbError> {
        if self.is_in_transaction.load(Ordering::SeqCst) {
            self.run("ROLLBACK").await?;
            self.is_in_transaction.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Prepares a statement once for the connection.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, DbError> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.query(&statement, params).await?)
    }

    pub(crate) async fn query_opt(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, DbError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.query_opt(&statement, params).await?)
    }

    pub(crate) async fn query_one(&self, sql: &str, params: Params<'_>) -> Result<Row, DbError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.query_one(&statement, params).await?)
    }

    pub(crate) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        let statement = self.prepare(sql).await?;
        Ok(self.client.execute(&statement, params).await?)
    }

    /// Runs statements without parameters and results.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), DbError> {
        Ok(self.client.batch_execute(sql).await?)
    }
}
