//! Which sessions on disk are in the store already.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use interlingua_client::{Client, SessionQuery};
use interlingua_history::HistorySession;
use interlingua_store::{OpenError, SessionFilter, Store, StoreOptions};

use crate::server_file::find_server;
use crate::sessions::ServerArgs;
use crate::store_args::StoreArgs;

/// Number of sessions that are read from the store at once.
const PAGE: usize = 500;

/// The stored session of each native session, by agent and native id.
#[derive(Debug, Default)]
pub(super) struct StoredSessions(HashMap<(String, String), String>);

impl StoredSessions {
    /// Reads which sessions are in the store of a data directory: from the store, or from the server that uses it. `None` if
    /// there is neither, or the server does not tell.
    pub(super) fn load(data_dir: &Path) -> anyhow::Result<Option<Self>> {
        let args = StoreArgs::default();
        if !args.is_shared() && !Store::exists(data_dir) {
            return Ok(None);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        match runtime.block_on(args.open_for_import(data_dir, StoreOptions::default())) {
            Ok(store) => {
                let stored = runtime.block_on(Self::read(&store));
                runtime.block_on(store.close());
                Ok(Some(stored.context("cannot read the stored sessions")?))
            }
            Err(error) if matches!(error.downcast_ref(), Some(OpenError::InUse { .. })) => {
                let Some(server) = find_server(data_dir) else { return Ok(None) };
                let client = ServerArgs::for_endpoint(server.address).client()?;
                // A list does not fail because the server wants another token.
                Ok(runtime.block_on(Self::ask(&client)).ok())
            }
            Err(error) => Err(error),
        }
    }

    async fn read(store: &Store) -> Result<Self, interlingua_store::StoreError> {
        let mut stored = Self::default();
        let mut from = None;
        loop {
            let page = store.sessions(&SessionFilter::default(), PAGE, from).await?;
            for session in page.sessions {
                stored.add(session.agent, session.native_session_id.map(|id| id.to_string()), session.id.to_string());
            }
            from = page.next;
            if from.is_none() {
                return Ok(stored);
            }
        }
    }

    async fn ask(client: &Client) -> Result<Self, interlingua_client::ClientError> {
        let mut stored = Self::default();
        for session in client.sessions(&SessionQuery::default()).await?.sessions {
            stored.add(session.agent, session.native_session_id, session.session_id);
        }
        Ok(stored)
    }

    fn add(&mut self, agent: String, native: Option<String>, session: String) {
        if let Some(native) = native {
            self.0.insert((agent, native), session);
        }
    }

    /// The stored session of a session on disk.
    pub(super) fn find(&self, session: &HistorySession) -> Option<&str> {
        let key = (session.agent().id().to_owned(), session.native_session_id.clone());
        self.0.get(&key).map(String::as_str)
    }
}
