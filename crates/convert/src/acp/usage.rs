//! Token usage and cost of turns.
//!
//! Agents report tokens with the answer to a prompt, for the turn or for the session, or in `_meta`. The cost is a total
//! of the session.

use interlingua_native::Json;
use interlingua_native::acp::{Usage as NativeUsage, UsageUpdateSessionUpdate};
use interlingua_schema::{MetadataValue, NativeMetadata, Usage};
use serde::Deserialize;

use super::AcpConverter;
use crate::{CumulativeUsage, Drafts};

/// Drop reason for the fill of the context window, which is part of the end of the turn.
pub(super) const CONTEXT: &str = "size of the context window, or usage of one request";
/// Name of the agent whose usage counts over the whole session.
const COUNTS_SESSION: &str = "Copilot";
/// The only currency that a cost is converted from.
const DOLLARS: &str = "USD";

/// Usage of a session.
#[derive(Debug, Default)]
pub(super) struct SessionUsage {
    /// Tokens since the process started, for agents that count over the session.
    tokens: Option<CumulativeUsage>,
    /// Cost of the session as last reported.
    cost: Option<f64>,
    /// Cost that earlier turns contain; `None` if it is not known because the session was resumed.
    reported_cost: Option<f64>,
    /// Usage of the requests of this turn, for agents that report it with each of them.
    requests: Option<Usage>,
    /// Used and available tokens of the context window.
    window: Option<(u64, u64)>,
}

impl SessionUsage {
    /// The session is new, so it has cost nothing.
    pub(super) fn start(&mut self) {
        self.reported_cost = Some(0.0);
    }

    /// The next process counts anew.
    pub(super) fn reset_process_state(&mut self) {
        self.tokens = None;
        self.cost = None;
        self.reported_cost = None;
        self.requests = None;
    }

    /// The share of the turn in the cost.
    fn turn_cost(&mut self) -> Option<f64> {
        let total = self.cost?;
        let before = self.reported_cost.replace(total)?;
        Some(if total < before { total } else { total - before })
    }
}

/// Usage in `_meta`, under the keys of several agents.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageMeta {
    usage: Option<Tokens>,
    quota: Option<Quota>,
}

/// `_meta.quota` of the answer to a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Quota {
    token_count: Option<Tokens>,
    model_usage: Vec<ModelUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelUsage {
    model: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    #[serde(alias = "input_tokens", alias = "inputTokens", alias = "promptTokens", alias = "prompt_tokens")]
    input: u64,
    #[serde(
        alias = "output_tokens",
        alias = "outputTokens",
        alias = "completionTokens",
        alias = "candidatesTokens",
        alias = "completion_tokens"
    )]
    output: u64,
    #[serde(alias = "cached_tokens", alias = "cachedReadTokens", alias = "cachedInputTokens", alias = "cachedTokens")]
    cached: Option<u64>,
    #[serde(
        alias = "thought_tokens",
        alias = "thoughtTokens",
        alias = "thoughtsTokens",
        alias = "reasoningOutputTokens"
    )]
    thought: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self::new(tokens.input, tokens.output).cached_input_tokens(tokens.cached).reasoning_tokens(tokens.thought)
    }
}

fn to_usage(usage: &NativeUsage) -> Usage {
    Usage::new(usage.input_tokens.unwrap_or_default(), usage.output_tokens.unwrap_or_default())
        .cached_input_tokens(usage.cached_read_tokens)
        .cache_write_tokens(usage.cached_write_tokens)
        .reasoning_tokens(usage.thought_tokens)
}

impl AcpConverter {
    pub(super) fn handle_usage_update(&mut self, id: &str, update: &UsageUpdateSessionUpdate, out: &mut Drafts) {
        let usage = &mut self.session(id).usage;
        usage.window = update.used.zip(update.size).or(usage.window);
        let dollars = update.cost.as_ref().filter(|cost| cost.currency.as_deref() == Some(DOLLARS));
        if let Some(amount) = dollars.and_then(|cost| cost.amount.as_ref()?.as_f64()) {
            usage.cost = Some(amount);
        }
        out.dropped(CONTEXT);
    }

    /// Adds the usage that a chunk carries in `_meta`. Returns whether it carries any.
    pub(super) fn observe_chunk_usage(&mut self, id: &str, meta: Option<&Json>) -> bool {
        let tokens = meta.and_then(|meta| meta.decode::<UsageMeta>().ok()).and_then(|meta| meta.usage);
        let Some(tokens) = tokens else { return false };
        let usage = Usage::from(tokens);
        match &mut self.session(id).usage.requests {
            Some(total) => *total += usage,
            total @ None => *total = Some(usage),
        }
        true
    }

    /// The usage of the turn that ends now.
    pub(super) fn turn_usage(&mut self, id: &str, reported: Option<NativeUsage>, meta: Option<&Json>) -> Option<Usage> {
        let counts_session = self.implementation.name.as_deref() == Some(COUNTS_SESSION);
        let session = self.session(id);
        let model = session.settings.model().map(str::to_owned);
        let state = &mut session.usage;
        let requests = state.requests.take();
        let meta = meta.and_then(|meta| meta.decode::<UsageMeta>().ok()).unwrap_or_default();
        let quota = meta.quota.unwrap_or_default();
        let reported = match reported.map(|usage| to_usage(&usage)) {
            Some(total) if counts_session => {
                Some(state.tokens.get_or_insert_with(CumulativeUsage::from_zero).turn_usage(total))
            }
            reported => reported,
        };
        let mut usage = reported
            .or_else(|| quota.token_count.map(Usage::from))
            .or_else(|| meta.usage.map(Usage::from))
            .or(requests);
        if let Some(cost) = state.turn_cost() {
            usage = Some(usage.unwrap_or_default().cost_usd(cost));
        }
        let mut usage = usage?;
        usage.model = match quota.model_usage.as_slice() {
            [only] => only.model.clone().or(model),
            _ => model,
        };
        Some(usage)
    }

    /// The context window at the end of the turn.
    pub(super) fn context_window(&self, id: &str) -> NativeMetadata {
        let window = self.sessions.get(id).and_then(|session| session.usage.window);
        let number = |number: u64| MetadataValue::Json(number.into());
        NativeMetadata::new()
            .with("context_tokens", window.map(|(used, _)| number(used)))
            .with("context_window", window.map(|(_, size)| number(size)))
    }
}
