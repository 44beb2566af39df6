//! The server behind the agent, which may be replaced by another one on the same data directory.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use interlingua_client::{Client, ClientError};

/// Finds the server that runs now.
pub(crate) type FindServer = dyn Fn() -> Option<Client> + Send + Sync;

/// The server. Clones share it.
#[derive(Clone)]
pub(crate) struct Server(Arc<Shared>);

struct Shared {
    client: RwLock<Client>,
    find: Option<Arc<FindServer>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Server").field(&self.client()).finish()
    }
}

impl Server {
    pub(crate) fn new(client: Client, find: Option<Arc<FindServer>>) -> Self {
        Self(Arc::new(Shared { client: RwLock::new(client), find }))
    }

    pub(crate) fn client(&self) -> Client {
        self.0.client.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for the server that runs now, if this one does not answer.
    ///
    /// # Errors
    /// Says why the server cannot be used.
    pub(crate) async fn check(&self) -> Result<(), ClientError> {
        let Err(error) = self.client().health().await else { return Ok(()) };
        let Some(found) = self.0.find.as_ref().and_then(|find| find()) else { return Err(error) };
        found.health().await?;
        *self.0.client.write().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(())
    }
}
