//! The API as a client uses it.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::follower::Follower;

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
}

impl Api {
    pub(crate) fn new(base: &str, token: Option<&str>) -> Result<Self> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}")).context("the token cannot be sent")?;
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder()
            .default_headers(headers)
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_secs(10))
            .build()?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned() })
    }

    pub(crate) async fn create(&self, id: &str) -> Result<()> {
        self.create_as(id, json!({ "agent": "mock" })).await
    }

    /// Creates a session like this.
    pub(crate) async fn create_as(&self, id: &str, session: Value) -> Result<()> {
        self.post(&format!("/v1/sessions/{id}"), session).await.map(drop)
    }

    pub(crate) async fn send(&self, id: &str, message: &str) -> Result<()> {
        self.post(&format!("/v1/sessions/{id}/messages"), json!({ "message": message })).await.map(drop)
    }

    pub(crate) async fn delete(&self, id: &str) -> Result<()> {
        let url = format!("{}/v1/sessions/{id}", self.base);
        fine(self.client.delete(url).send().await?).await.map(drop)
    }

    /// How many events a session has.
    pub(crate) async fn event_count(&self, id: &str) -> Result<u64> {
        let info: Value = self.get(&format!("/v1/sessions/{id}")).await?.json().await?;
        info["eventCount"].as_u64().context("the session has no eventCount")
    }

    /// Reads events; how many came.
    pub(crate) async fn events(&self, id: &str, offset: u64, limit: usize) -> Result<usize> {
        let path = format!("/v1/sessions/{id}/events?offset={offset}&limit={limit}");
        let bytes = self.get(&path).await?.bytes().await?;
        let page: Value = serde_json::from_slice(&bytes)?;
        Ok(page["events"].as_array().context("the page has no events")?.len())
    }

    /// The same, without looking at what came: what is measured is the server.
    pub(crate) async fn fetch_events(&self, id: &str, offset: u64, limit: usize) -> Result<()> {
        let path = format!("/v1/sessions/{id}/events?offset={offset}&limit={limit}");
        self.get(&path).await?.bytes().await?;
        Ok(())
    }

    pub(crate) async fn follow(&self, id: &str, offset: u64) -> Result<Follower> {
        let path = format!("/v1/sessions/{id}/events/sse?offset={offset}");
        Ok(Follower::new(self.get(&path).await?))
    }

    async fn get(&self, path: &str) -> Result<Response> {
        fine(self.client.get(format!("{}{path}", self.base)).send().await?).await
    }

    async fn post(&self, path: &str, body: Value) -> Result<Response> {
        fine(self.client.post(format!("{}{path}", self.base)).json(&body).send().await?).await
    }
}

async fn fine(response: Response) -> Result<Response> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (url, status) = (response.url().clone(), response.status());
    bail!("{url} answered {status}: {}", response.text().await.unwrap_or_default())
}
