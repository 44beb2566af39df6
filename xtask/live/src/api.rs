//! The server's API as a client uses it.

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, Response};
use serde_json::{Value, json};

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
}

impl Api {
    pub(crate) fn new(base: &str) -> Result<Self> {
        let client = Client::builder().no_proxy().build().context("cannot make an HTTP client")?;
        Ok(Self { client, base: base.to_owned() })
    }

    pub(crate) async fn create(&self, session: &str, wanted: &Value) -> Result<()> {
        self.post(session, "", wanted).await
    }

    pub(crate) async fn send(&self, session: &str, message: &str) -> Result<()> {
        self.post(session, "/messages", &json!({"message": message})).await
    }

    pub(crate) async fn permit(&self, session: &str, permission: &str, reply: &str) -> Result<()> {
        self.post(session, &format!("/permissions/{permission}/reply"), &json!({"reply": reply})).await
    }

    pub(crate) async fn answer(&self, session: &str, question: &str, chosen: &[String]) -> Result<()> {
        self.post(session, &format!("/questions/{question}/reply"), &json!({"answers": [chosen]})).await
    }

    pub(crate) async fn reject(&self, session: &str, question: &str) -> Result<()> {
        self.post(session, &format!("/questions/{question}/reject"), &json!({})).await
    }

    pub(crate) async fn interrupt(&self, session: &str) -> Result<()> {
        self.post(session, "/interrupt", &json!({})).await
    }

    pub(crate) async fn terminate(&self, session: &str) -> Result<()> {
        self.post(session, "/terminate", &json!({})).await
    }

    /// The events of a session after one, as they come.
    pub(crate) async fn follow(&self, session: &str, after: u64) -> Result<Response> {
        let url = format!("{}/v1/sessions/{session}/events/sse?include_raw=true&offset={after}", self.base);
        let response = self.client.get(&url).send().await.with_context(|| format!("{url} was not answered"))?;
        fine(response).await
    }

    async fn post(&self, session: &str, path: &str, body: &Value) -> Result<()> {
        let url = format!("{}/v1/sessions/{session}{path}", self.base);
        let response =
            self.client.post(&url).json(body).send().await.with_context(|| format!("{url} was not answered"))?;
        fine(response).await.map(drop)
    }
}

async fn fine(response: Response) -> Result<Response> {
    if response.status().is_success() {
        return Ok(response);
    }
    let (url, status) = (response.url().clone(), response.status());
    bail!("{url} answered {status}: {}", response.text().await.unwrap_or_default())
}
