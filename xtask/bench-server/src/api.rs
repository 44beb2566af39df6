//! The API calls that are measured.

use std::time::Duration;

use anyhow::Result;
use interlingua_client::{AllEventsQuery, Client, CreateSessionRequest, EventQuery, MessageRequest, SessionState};
use reqwest::Method;
use tokio::time::sleep;

use crate::follower::Follower;

/// Interval between looks at a session that works.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(20);

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

    /// The client.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Waits until a session has nothing to do.
    pub(crate) async fn wait_until_idle(&self, id: &str) -> Result<()> {
        loop {
            let session = self.client.session(id).await?;
            if session.state == SessionState::Idle && session.queued == 0 {
                return Ok(());
            }
            sleep(IDLE_POLL_INTERVAL).await;
        }
    }

    /// Creates a session of the mock agent.
    pub(crate) async fn create_mock_session(&self, id: &str) -> Result<()> {
        self.create_session(id, &CreateSessionRequest::new("mock")).await
    }

    pub(crate) async fn create_session(&self, id: &str, session: &CreateSessionRequest) -> Result<()> {
        self.client.create_session(id, session).await?;
        Ok(())
    }

    pub(crate) async fn send_message(&self, id: &str, message: &str) -> Result<()> {
        Ok(self.client.send_message(id, &MessageRequest::new(message)).await?)
    }

    pub(crate) async fn delete_session(&self, id: &str) -> Result<()> {
        Ok(self.client.delete_session(id).await?)
    }

    /// Number of events of a session.
    pub(crate) async fn event_count(&self, id: &str) -> Result<u64> {
        Ok(self.client.session(id).await?.event_count)
    }

    /// Reads events and returns their number.
    pub(crate) async fn count_page(&self, id: &str, offset: u64, limit: usize) -> Result<usize> {
        let query = EventQuery::after(offset).limit(limit as u64);
        Ok(self.client.events(id, query).await?.events.len())
    }

    /// Reads events without decoding them, so that only the server is measured.
    pub(crate) async fn fetch_page(&self, id: &str, offset: u64, limit: usize) -> Result<()> {
        let path = format!("/v1/sessions/{id}/events?offset={offset}&limit={limit}");
        self.client.execute(self.client.request(Method::GET, &path)).await?.bytes().await?;
        Ok(())
    }

    /// Follows the events of all sessions after a cursor; from the start if it is empty.
    pub(crate) async fn follow_all(&self, cursor: &str) -> Result<Follower> {
        let query = AllEventsQuery::default().cursor(Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty()));
        Ok(Follower::new(self.client.all_event_frames(&query).await?.into_response()))
    }

    pub(crate) async fn follow(&self, id: &str, offset: u64) -> Result<Follower> {
        Ok(Follower::new(self.client.event_frames(id, EventQuery::after(offset)).await?.into_response()))
    }
}
