//! The API as far as it is measured.

use anyhow::Result;
use interlingua_client::{Client, CreateSessionRequest, EventQuery, MessageRequest};
use reqwest::Method;

use crate::follower::Follower;

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
}

impl Api {
    pub(crate) fn new(base: &str, token: Option<&str>) -> Result<Self> {
        let mut builder = Client::builder(base);
        if let Some(token) = token {
            builder = builder.token(token);
        }
        Ok(Self { client: builder.build()? })
    }

    /// Creates a session with the mock agent.
    pub(crate) async fn create(&self, id: &str) -> Result<()> {
        self.create_as(id, &CreateSessionRequest::new("mock")).await
    }

    /// Creates a session like this.
    pub(crate) async fn create_as(&self, id: &str, session: &CreateSessionRequest) -> Result<()> {
        self.client.create_session(id, session).await?;
        Ok(())
    }

    pub(crate) async fn send(&self, id: &str, message: &str) -> Result<()> {
        Ok(self.client.send_message(id, &MessageRequest::new(message)).await?)
    }

    pub(crate) async fn delete(&self, id: &str) -> Result<()> {
        Ok(self.client.delete_session(id).await?)
    }

    /// How many events a session has.
    pub(crate) async fn event_count(&self, id: &str) -> Result<u64> {
        Ok(self.client.session(id).await?.event_count)
    }

    /// Reads events; how many came.
    pub(crate) async fn events(&self, id: &str, offset: u64, limit: usize) -> Result<usize> {
        let query = EventQuery::after(offset).limit(limit as u64);
        Ok(self.client.events(id, query).await?.events.len())
    }

    /// The same, without looking at what came: what is measured is the server.
    pub(crate) async fn fetch_events(&self, id: &str, offset: u64, limit: usize) -> Result<()> {
        let path = format!("/v1/sessions/{id}/events?offset={offset}&limit={limit}");
        self.client.execute(self.client.request(Method::GET, &path)).await?.bytes().await?;
        Ok(())
    }

    pub(crate) async fn follow(&self, id: &str, offset: u64) -> Result<Follower> {
        Ok(Follower::new(self.client.event_frames(id, EventQuery::after(offset)).await?.into_response()))
    }
}
