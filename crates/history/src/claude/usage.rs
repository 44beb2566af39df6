//! Tokens of messages, counted once each.
//!
//! Each content block of a message is a line of its own, and each line repeats the usage of the whole message so far. The
//! largest counts are the final ones.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::path::Path;

use foldhash::HashMap;
use interlingua_schema::{Usage, round_cost};
use serde::Deserialize;

use super::copies::Copies;
use super::line::{Line, LineKind, Message};
use super::sub_agents::SpawningCall;
use crate::json::{Field, decode, hash, number, text};
use crate::merge::{MergedReader, SubAgentFile};
use crate::{HistoryError, HistoryReport};

/// Counts of the API, which do not include cached tokens in the input: of a message, or in `cost-state` of all messages of
/// a model, with other names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiUsage<'a> {
    #[serde(borrow, alias = "inputTokens")]
    input_tokens: Field<'a>,
    #[serde(borrow, alias = "cacheReadInputTokens")]
    cache_read_input_tokens: Field<'a>,
    #[serde(borrow, alias = "cacheCreationInputTokens")]
    cache_creation_input_tokens: Field<'a>,
    #[serde(borrow, alias = "outputTokens")]
    output_tokens: Field<'a>,
    #[serde(borrow, rename = "costUSD")]
    cost: Field<'a>,
}

/// Token counts that can be subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
}

impl Tokens {
    fn from_usage(usage: &ApiUsage<'_>) -> Self {
        let count = |field| number(field).unwrap_or(0);
        Self {
            input: count(usage.input_tokens),
            cache_read: count(usage.cache_read_input_tokens),
            cache_write: count(usage.cache_creation_input_tokens),
            output: count(usage.output_tokens),
        }
    }

    fn map(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: combine(self.input, other.input),
            cache_read: combine(self.cache_read, other.cache_read),
            cache_write: combine(self.cache_write, other.cache_write),
            output: combine(self.output, other.output),
        }
    }

    fn plus(self, other: Self) -> Self {
        self.map(other, u64::saturating_add)
    }

    fn minus(self, other: Self) -> Self {
        self.map(other, u64::saturating_sub)
    }

    fn max(self, other: Self) -> Self {
        self.map(other, u64::max)
    }

    /// The same counts in the universal form, which includes cached tokens in the input.
    fn to_usage(self) -> Usage {
        let input = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        Usage::new(input, self.output)
            .cached_input_tokens(Some(self.cache_read))
            .cache_write_tokens(Some(self.cache_write))
    }
}

/// Tokens by model.
type ByModel = BTreeMap<String, Tokens>;

/// Counts the usage of a session.
#[derive(Debug, Default)]
pub(super) struct UsageCounter {
    /// Usage of each message, by the hash of its id.
    messages: HashMap<u64, Tokens>,
    /// Usage of the messages since the last totals, which the next totals include.
    since_totals: ByModel,
    /// The last totals.
    totals: ByModel,
    costs: BTreeMap<String, f64>,
    has_totals: bool,
    /// Messages of another session were copied. Its cost is not known.
    has_copies: bool,
}

/// What the totals of a session contain beyond its messages.
#[derive(Debug, Default)]
pub(super) struct Remainder {
    tokens: ByModel,
    costs: BTreeMap<String, f64>,
}

impl Remainder {
    /// The usage of each model.
    pub(super) fn into_usage(self) -> Vec<Usage> {
        let Self { mut tokens, costs } = self;
        let costs: BTreeMap<String, f64> = costs.into_iter().filter(|(_, cost)| *cost > 0.0).collect();
        for model in costs.keys() {
            tokens.entry(model.clone()).or_default();
        }
        let used = tokens.into_iter().map(|(model, tokens)| {
            let cost = costs.get(&model).copied().map(round_cost);
            tokens.to_usage().cost_usd(cost).model(Some(model))
        });
        used.filter(|usage| usage.input_tokens + usage.output_tokens > 0 || usage.cost_usd.is_some()).collect()
    }

    /// The tokens alone.
    fn without_costs(self) -> Self {
        Self { costs: BTreeMap::new(), ..self }
    }
}

impl UsageCounter {
    /// Counts the part of a message's usage that was not counted yet.
    pub(super) fn add_message(&mut self, message: &Message<'_>) -> Option<Usage> {
        let (model, added) = self.count(message)?;
        let model = Some(model).filter(|model| !model.is_empty());
        (added != Tokens::default()).then(|| added.to_usage().model(model))
    }

    /// Notes a message of another session that was copied into this file. The totals include it.
    pub(super) fn add_copy(&mut self, message: &Message<'_>) {
        self.has_copies = true;
        self.count(message);
    }

    fn count(&mut self, message: &Message<'_>) -> Option<(String, Tokens)> {
        let id = text(message.id)?;
        let tokens = Tokens::from_usage(&decode(message.usage));
        let known = self.messages.entry(hash(&*id)).or_default();
        let added = tokens.minus(*known);
        *known = known.max(tokens);
        let model = text(message.model).filter(|model| !model.starts_with('<')).unwrap_or_default().into_owned();
        let sum = self.since_totals.entry(model.clone()).or_default();
        *sum = sum.plus(added);
        Some((model, added))
    }

    /// Totals of the session, cumulative over its processes. What they contain beyond the messages was used by requests
    /// that leave no message, such as compactions and titles, and by messages that were cut off.
    pub(super) fn add_totals(&mut self, by_model: Field<'_>) -> Remainder {
        let models: BTreeMap<String, ApiUsage<'_>> = decode(by_model);
        let mut remainder = Remainder::default();
        // A model may have another name in the totals than in the messages, so the rest of the sum is what counts.
        let mut unnamed = Tokens::default();
        for (model, usage) in &models {
            let total = Tokens::from_usage(usage);
            let used = total.minus(self.totals.get(model).copied().unwrap_or_default());
            let counted = self.since_totals.remove(model).unwrap_or_default();
            unnamed = unnamed.plus(counted.minus(used));
            remainder.tokens.insert(model.clone(), used.minus(counted));
            self.totals.insert(model.clone(), total);
        }
        unnamed = self.since_totals.values().fold(unnamed, |sum, tokens| sum.plus(*tokens));
        for tokens in remainder.tokens.values_mut() {
            let before = *tokens;
            *tokens = tokens.minus(unnamed);
            unnamed = unnamed.minus(before);
        }
        self.since_totals.clear();
        // The first totals of a fork include what its parent has cost.
        let is_known = !self.has_copies || self.has_totals;
        for (model, usage) in &models {
            let cost = usage.cost.and_then(|cost| cost.get().parse::<f64>().ok()).unwrap_or_default();
            let before = self.costs.insert(model.clone(), cost).unwrap_or_default();
            if is_known {
                remainder.costs.insert(model.clone(), cost - before);
            }
        }
        self.has_totals = true;
        remainder
    }

    /// Counts what the next totals contain beyond the messages, before they come.
    pub(super) fn anticipate(&mut self, remainder: &Remainder) {
        for (model, tokens) in &remainder.tokens {
            let sum = self.since_totals.entry(model.clone()).or_default();
            *sum = sum.plus(*tokens);
        }
    }
}

/// The remainders of all totals of a session, in order. Read in advance, because a message that was cut off belongs to an
/// earlier turn than the totals.
pub(super) fn read_remainders(
    path: &Path,
    sub_agents: Vec<SubAgentFile<SpawningCall>>,
    copies: &Copies,
) -> Result<VecDeque<Remainder>, HistoryError> {
    // What cannot be read is reported by the conversion.
    let mut report = HistoryReport::default();
    let mut reader = MergedReader::open(path, sub_agents, true)?;
    let mut counter = UsageCounter::default();
    let mut remainders = VecDeque::new();
    while let Some(merged) = reader.next(&mut report) {
        let Ok(json) = &merged.record.text else { continue };
        let Ok(line) = Line::parse(json) else { continue };
        match line.kind() {
            LineKind::Assistant if line.id().is_some_and(|id| copies.lines.contains(&id)) => {
                counter.add_copy(&line.message());
            }
            LineKind::Assistant => _ = counter.add_message(&line.message()),
            LineKind::CostState => remainders.push_back(counter.add_totals(line.model_usage).without_costs()),
            _ => {}
        }
    }
    Ok(remainders)
}
