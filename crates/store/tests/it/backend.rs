//! The stores that the tests run with: each test that only uses the interface runs with both.

use std::path::Path;

use interlingua_store::{PostgresOptions, ServerIdentity, Store, StoreOptions};
use tempfile::TempDir;

/// A store that can be closed and opened again.
pub(crate) enum Backend {
    Sqlite(TempDir),
    Postgres { url: String, dir: TempDir },
}

impl Backend {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// A schema of its own. `None` if Postgres is not installed.
    pub(crate) fn postgres() -> Option<Self> {
        let url = interlingua_test_postgres::shared_url()?;
        Some(Self::Postgres { url, dir: tempfile::tempdir().unwrap() })
    }

    /// Another store of the same kind.
    pub(crate) fn other(&self) -> Self {
        match self {
            Self::Sqlite(_) => Self::sqlite(),
            Self::Postgres { .. } => Self::postgres().unwrap(),
        }
    }

    pub(crate) async fn open(&self) -> Store {
        self.open_limited(None, None).await
    }

    /// Opens the store with limits of sessions and of the store.
    pub(crate) async fn open_limited(&self, max_session_bytes: Option<u64>, max_store_bytes: Option<u64>) -> Store {
        match self {
            Self::Sqlite(dir) => {
                let options =
                    StoreOptions::default().max_session_bytes(max_session_bytes).max_store_bytes(max_store_bytes);
                Store::open(dir.path(), options).unwrap()
            }
            Self::Postgres { .. } => {
                let options =
                    self.postgres_options().max_session_bytes(max_session_bytes).max_store_bytes(max_store_bytes);
                Store::connect(options).await.unwrap()
            }
        }
    }

    /// Options of a Postgres store, for one server.
    pub(crate) fn postgres_options(&self) -> PostgresOptions {
        self.postgres_options_in(self.data_dir(), "a")
    }

    /// Options of a Postgres store, for a server with its own data directory.
    pub(crate) fn postgres_options_in(&self, dir: &Path, name: &str) -> PostgresOptions {
        PostgresOptions::new(self.url().parse().unwrap(), dir).server(ServerIdentity::new(name)).connections(6)
    }

    fn url(&self) -> &str {
        match self {
            Self::Sqlite(_) => panic!("not a Postgres store"),
            Self::Postgres { url, .. } => url,
        }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        match self {
            Self::Sqlite(dir) | Self::Postgres { dir, .. } => dir.path(),
        }
    }

    /// Runs SQL in the schema of a Postgres store, and returns what `psql` prints.
    pub(crate) fn run_sql(&self, sql: &str) -> String {
        let schema = self.url().rsplit_once("schema=").unwrap().1;
        interlingua_test_postgres::shared().unwrap().run_sql(&format!("SET search_path = {schema}; {sql}"))
    }
}

/// Runs tests, which take a [`Backend`], with each kind of store.
macro_rules! conformance {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name($crate::backend::Backend::sqlite()).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(backend) = $crate::backend::Backend::postgres() {
                        super::$name(backend).await;
                    }
                }
            )+
        }
    };
}

pub(crate) use conformance;
