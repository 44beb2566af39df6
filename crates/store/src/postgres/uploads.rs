//! Files that clients have uploaded. The database has them, and every server that needs one writes it to its own folder:
//! agents read files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::limits::Limits;
use crate::postgres::pool::Pool;
use crate::uploads::{MAX_FILES_PER_NAME, Uploads, check_name, numbered};
use crate::{SessionKey, StoreError};

/// The uploaded files of a store. Cloning it copies pointers.
#[derive(Clone)]
pub(crate) struct StoredUploads {
    files: Uploads,
    pool: Arc<Pool>,
    limits: Limits,
}

impl StoredUploads {
    /// The files of a store, in a folder of its own: the keys of sessions are those of other sessions in another store.
    pub(crate) fn new(data_dir: &Path, store_id: u32, pool: Arc<Pool>, limits: Limits) -> Self {
        let files = Uploads::open(data_dir.join(format!("uploads-{store_id:08x}")));
        Self { files, pool, limits }
    }

    /// Stores a file, and writes it to the folder of this server. Returns its path. The second file of a name gets a
    /// number.
    pub(crate) async fn save(&self, session: SessionKey, name: String, content: &[u8]) -> Result<PathBuf, StoreError> {
        check_name(&name)?;
        let numbered = self.store(session, &name, content).await?;
        self.write(session, numbered, content.to_vec()).await
    }

    /// Stores a file under the first name that is free, and returns that.
    async fn store(&self, session: SessionKey, name: &str, content: &[u8]) -> Result<String, StoreError> {
        self.limits.check_store(content.len())?;
        for number in 1..=MAX_FILES_PER_NAME {
            let numbered = numbered(name, number);
            let client = self.pool.client().await?;
            client.begin().await?;
            let inserted = insert(&client, session, &numbered, content, &self.limits).await;
            if inserted.is_ok() {
                client.commit().await?;
            } else {
                // A connection whose transaction cannot be ended is closed.
                drop(client.rollback().await);
            }
            if inserted? {
                return Ok(numbered);
            }
        }
        let reason = "the session has too many files of this name".to_owned();
        Err(StoreError::Upload { name: name.to_owned(), reason })
    }

    /// The path of a file here, if the path is that of an uploaded file of the session on another server.
    pub(crate) async fn fetch(&self, session: SessionKey, path: &Path) -> Result<Option<PathBuf>, StoreError> {
        let Some(name) = self.files.name_in(session, path) else { return Ok(None) };
        let local = self.files.path(session, &name);
        if local.exists() {
            return Ok(Some(local));
        }
        let content = load(&*self.pool.client().await?, session, &name).await?;
        match content {
            Some(content) => self.write(session, name, content).await.map(Some),
            None => Ok(None),
        }
    }

    async fn write(&self, session: SessionKey, name: String, content: Vec<u8>) -> Result<PathBuf, StoreError> {
        let files = self.files.clone();
        let written = tokio::task::spawn_blocking(move || files.write(session, &name, &content)).await;
        let path = written.unwrap_or(Err(StoreError::Closed))?;
        // A deletion removes the files that it finds. This one may be younger.
        if self.deleted(vec![session]).await?.is_empty() {
            return Ok(path);
        }
        self.remove(session);
        Err(StoreError::SessionNotFound)
    }

    /// Removes the files of a session from the folder of this server.
    pub(crate) fn remove(&self, session: SessionKey) {
        if let Err(error) = self.files.remove(session) {
            tracing::warn!(session = session.0, %error, "cannot remove uploaded files of a deleted session; trying again later");
        }
    }

    /// Removes the files of sessions that were deleted at other servers.
    pub(crate) async fn remove_deleted(&self) -> Result<(), StoreError> {
        let sessions = self.files.sessions().unwrap_or_default();
        if sessions.is_empty() {
            return Ok(());
        }
        for session in self.deleted(sessions).await? {
            self.remove(session);
        }
        Ok(())
    }

    /// Those of the sessions that do not exist.
    async fn deleted(&self, sessions: Vec<SessionKey>) -> Result<Vec<SessionKey>, StoreError> {
        let query =
            "SELECT k FROM unnest($1::bigint[]) AS u (k) WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE key = k)";
        let keys: Vec<i64> = sessions.into_iter().map(|session| session.0).collect();
        let rows = self.pool.client().await?.query(query, &[&keys]).await?;
        Ok(rows.iter().map(|row| SessionKey(row.get(0))).collect())
    }
}

/// Stores a file, in a transaction. False if the session has another one with this name.
async fn insert(
    client: &DbClient,
    session: SessionKey,
    name: &str,
    content: &[u8],
    limits: &Limits,
) -> Result<bool, DbError> {
    // An attempt whose answer was lost may have stored it.
    let same = "SELECT content = $3 FROM uploads WHERE session = $1 AND name = $2";
    if let Some(row) = client.query_opt(same, &[&session.0, &name, &content]).await? {
        return Ok(row.get(0));
    }
    // The lock excludes a deletion, which removes the files that it finds, and other files of the session, which count.
    let lock = "SELECT 1 FROM sessions WHERE key = $1 FOR NO KEY UPDATE";
    if client.query_opt(lock, &[&session.0]).await?.is_none() {
        return Err(StoreError::SessionNotFound.into());
    }
    limits.check_addition(client, session, content.len()).await?;
    let insert =
        "INSERT INTO uploads (session, name, content) VALUES ($1, $2, $3) ON CONFLICT (session, name) DO NOTHING";
    Ok(client.execute(insert, &[&session.0, &name, &content]).await? > 0)
}

async fn load(client: &DbClient, session: SessionKey, name: &str) -> Result<Option<Vec<u8>>, DbError> {
    let query = "SELECT content FROM uploads WHERE session = $1 AND name = $2";
    Ok(client.query_opt(query, &[&session.0, &name]).await?.map(|row| row.get(0)))
}
