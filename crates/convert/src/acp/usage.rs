//! Token usage and cost of turns.
//!
//! Agents report tokens with the answer to a prompt, for the turn or for the session, or in `_meta`. The cost is a total
//! of the session.

use interlingua_agents::AcpDialect;
use interlingua_native::Json;
use interlingua_native::acp::{Usage as NativeUsage, UsageUpdateSessionUpdate};
use interlingua_schema::{MetadataValue, NativeMetadata, Usage, round_cost};
use serde::Deserialize;
use serde_json::json;

use super::AcpConverter;
use super::history::Replay;
use crate::{CumulativeUsage, Drafts};

/// Drop reason for the fill of the context window, which is part of the end of the turn.
pub(super) const CONTEXT: &str = "size of the context window, or usage of one request";
/// The currency of [`Usage::cost_usd`].
const DOLLARS: &str = "USD";

/// Usage of a session.
#[derive(Debug, Default)]
pub(super) struct SessionUsage {
    /// Tokens since the process started, for agents that count over the session.
    tokens: Option<CumulativeUsage>,
    /// Cost of the session as last reported.
    cost: Option<Cost>,
    /// Cost that earlier turns contain; `None` if it is not known because the session was resumed.
    reported_cost: Option<f64>,
    /// Usage of the requests of this turn, for agents that report it with each of them.
    requests: Option<Usage>,
    /// Used and available tokens of the context window.
    window: Option<(u64, u64)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Cost {
    amount: f64,
    currency: String,
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
    fn turn_cost(&mut self) -> Option<Cost> {
        let Cost { amount: total, currency } = self.cost.clone()?;
        let before = self.reported_cost.replace(total)?;
        let amount = if total < before { total } else { total - before };
        Some(Cost { amount: round_cost(amount), currency })
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
    #[serde(alias = "cachedWriteTokens", alias = "cacheWriteInputTokens")]
    cache_write: Option<u64>,
    #[serde(
        alias = "thought_tokens",
        alias = "thoughtTokens",
        alias = "thoughtsTokens",
        alias = "reasoningOutputTokens"
    )]
    thought: Option<u64>,
    #[serde(alias = "total_tokens", alias = "totalTokens")]
    total: Option<u64>,
}

impl From<NativeUsage> for Tokens {
    fn from(usage: NativeUsage) -> Self {
        Self {
            input: usage.input_tokens.unwrap_or_default(),
            output: usage.output_tokens.unwrap_or_default(),
            cached: usage.cached_read_tokens,
            cache_write: usage.cached_write_tokens,
            thought: usage.thought_tokens,
            total: usage.total_tokens,
        }
    }
}

impl Tokens {
    fn is_zero(&self) -> bool {
        self.input == 0 && self.output == 0 && self.total.unwrap_or_default() == 0
    }

    /// Whether the cached tokens are not part of the input, and whether the reasoning is not part of the output. The
    /// protocol does not say; the total does. Without one that fits, a cache larger than the input is not part of it.
    fn separate_counts(&self) -> (bool, bool) {
        let cached = self.cached.unwrap_or_default().saturating_add(self.cache_write.unwrap_or_default());
        let thought = self.thought.unwrap_or_default();
        let Some(total) = self.total.filter(|total| *total > 0) else { return (cached > self.input, false) };
        let counts = [(false, false), (true, false), (true, true), (false, true)];
        let sum = |(with_cached, with_thought): (bool, bool)| {
            let extra = if with_cached { cached } else { 0 } + if with_thought { thought } else { 0 };
            self.input.saturating_add(self.output).saturating_add(extra)
        };
        counts.into_iter().find(|counts| sum(*counts) == total).unwrap_or((cached > self.input, false))
    }
}

/// The universal usage: all input with the cached tokens, all output with the reasoning.
impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let (cached_apart, thought_apart) = tokens.separate_counts();
        let Tokens { mut input, mut output, cached, cache_write, thought, .. } = tokens;
        if cached_apart {
            input = input.saturating_add(cached.unwrap_or_default()).saturating_add(cache_write.unwrap_or_default());
        }
        if thought_apart {
            output = output.saturating_add(thought.unwrap_or_default());
        }
        Self::new(input, output).cached_input_tokens(cached).cache_write_tokens(cache_write).reasoning_tokens(thought)
    }
}

/// What a turn has used.
#[derive(Debug, Default)]
pub(super) struct TurnUsage {
    pub(super) usage: Option<Usage>,
    /// The context window at the end of the turn, and a cost that is not in dollars or has no tokens.
    pub(super) native: NativeMetadata,
}

impl AcpConverter {
    pub(super) fn handle_usage_update(&mut self, id: &str, update: &UsageUpdateSessionUpdate, out: &mut Drafts) {
        let usage = &mut self.session(id).usage;
        usage.window = update.used.zip(update.size).or(usage.window);
        let cost = update.cost.as_ref().and_then(|cost| {
            let amount = cost.amount.as_ref()?.as_f64()?;
            Some(Cost { amount, currency: cost.currency.clone().unwrap_or_else(|| DOLLARS.to_owned()) })
        });
        usage.cost = cost.or(usage.cost.take());
        out.dropped(CONTEXT);
    }

    /// Adds the usage that a chunk carries in `_meta`. Returns whether it carries any.
    pub(super) fn observe_chunk_usage(&mut self, id: &str, meta: Option<&Json>, out: &mut Drafts) -> bool {
        let tokens = meta.and_then(|meta| meta.decode::<UsageMeta>().ok()).and_then(|meta| meta.usage);
        let Some(tokens) = tokens else { return false };
        let usage = Usage::from(tokens);
        if self.sessions.get(id).is_some_and(|session| session.replay == Some(Replay::Converted)) {
            // It belongs to the turn of the history whose message came before.
            self.finish_user_message(id, out);
            self.drafts(id, out).add_usage(usage);
            return true;
        }
        match &mut self.session(id).usage.requests {
            Some(total) => *total += usage,
            total @ None => *total = Some(usage),
        }
        true
    }

    /// The usage of the turn that ends now.
    pub(super) fn turn_usage(&mut self, id: &str, reported: Option<NativeUsage>, meta: Option<&Json>) -> TurnUsage {
        let counts_session = self.dialect == AcpDialect::Copilot;
        let session = self.session(id);
        let model = session.settings.model().map(str::to_owned);
        let state = &mut session.usage;
        let requests = state.requests.take();
        let meta = meta.and_then(|meta| meta.decode::<UsageMeta>().ok()).unwrap_or_default();
        let quota = meta.quota.unwrap_or_default();
        let reported = match reported.map(Tokens::from).filter(|tokens| !tokens.is_zero()).map(Usage::from) {
            Some(total) if counts_session => {
                Some(state.tokens.get_or_insert_with(CumulativeUsage::from_zero).turn_usage(total))
            }
            reported => reported,
        };
        let in_meta = |tokens: Option<Tokens>| tokens.filter(|tokens| !tokens.is_zero()).map(Usage::from);
        let mut usage = reported.or_else(|| in_meta(quota.token_count)).or_else(|| in_meta(meta.usage)).or(requests);
        let mut native = context_window(state.window);
        match (&mut usage, state.turn_cost()) {
            (Some(usage), Some(cost)) if cost.currency == DOLLARS => usage.cost_usd = Some(cost.amount),
            (_, Some(Cost { amount, currency })) if amount > 0.0 => {
                let cost = json!({ "amount": amount, "currency": currency });
                native = native.with("cost", Some(MetadataValue::Json(cost)));
            }
            _ => {}
        }
        if let Some(usage) = &mut usage {
            usage.model = match quota.model_usage.as_slice() {
                [only] => only.model.clone().or(model),
                _ => model,
            };
        }
        TurnUsage { usage, native }
    }
}

fn context_window(window: Option<(u64, u64)>) -> NativeMetadata {
    let number = |number: u64| MetadataValue::Json(number.into());
    NativeMetadata::new()
        .with("context_tokens", window.map(|(used, _)| number(used)))
        .with("context_window", window.map(|(_, size)| number(size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(json: &serde_json::Value) -> (u64, u64) {
        let tokens: Tokens = serde_json::from_value(json.clone()).unwrap();
        let usage = Usage::from(tokens);
        (usage.input_tokens, usage.output_tokens)
    }

    #[test]
    fn the_total_tells_which_tokens_are_counted_apart() {
        for (tokens, expected) in [
            // Claude Code: neither cache is part of the input.
            (
                json!({ "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 30, "cachedWriteTokens": 10, "totalTokens": 160 }),
                (140, 20),
            ),
            // Codex: the reasoning is part of the output.
            (
                json!({ "inputTokens": 70, "outputTokens": 20, "cachedReadTokens": 30, "thoughtTokens": 5, "totalTokens": 120 }),
                (100, 20),
            ),
            // OpenCode: it is not.
            (
                json!({ "inputTokens": 70, "outputTokens": 15, "cachedReadTokens": 30, "thoughtTokens": 5, "totalTokens": 120 }),
                (100, 20),
            ),
            // Copilot and Qwen Code: the cache is part of the input.
            (
                json!({ "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 30, "thoughtTokens": 5, "totalTokens": 120 }),
                (100, 20),
            ),
            (json!({ "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 30 }), (100, 20)),
            (json!({ "inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 30 }), (40, 20)),
        ] {
            assert_eq!(usage(&tokens), expected, "{tokens}");
        }
    }
}
