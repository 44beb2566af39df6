//! Tokens of messages, counted once each.
//!
//! Each content block of a message is a line of its own, and each line repeats the usage of the whole message so far. The
//! largest counts are the final ones.

use std::collections::BTreeMap;

use foldhash::HashMap;
use interlingua_schema::{Usage, round_cost};
use serde::Deserialize;

use super::line::Message;
use crate::json::{Field, decode, hash, number, text};

/// Counts of the API, which do not include cached tokens in the input: of a message, or in `cost-state` of all messages of
/// a model, with other names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the API")]
struct ApiUsage<'a> {
    #[serde(borrow, alias = "inputTokens")]
    input_tokens: Field<'a>,
    #[serde(borrow, alias = "cacheReadInputTokens")]
    cache_read_input_tokens: Field<'a>,
    #[serde(borrow, alias = "cacheCreationInputTokens")]
    cache_creation_input_tokens: Field<'a>,
    #[serde(borrow, alias = "outputTokens")]
    output_tokens: Field<'a>,
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

    /// The usage of a message.
    pub(super) fn of_message(message: &Message<'_>) -> Self {
        Self::from_usage(&decode(message.usage))
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

/// Counts the usage of a session's turns.
#[derive(Debug, Default)]
pub(super) struct UsageCounter {
    /// Usage of each message, by the hash of its id.
    messages: HashMap<u64, Tokens>,
    /// Usage since the last turn ended.
    turn: Tokens,
    turn_cost: Option<f64>,
    /// Usage of the messages since the last totals, which the next totals include.
    since_totals: Tokens,
    /// The last totals.
    totals: Tokens,
    cost: f64,
    /// Number of turns that ended since the last totals.
    turns_since_totals: u64,
    /// Messages of another session were copied. Its cost is not known.
    has_copies: bool,
    model: Option<String>,
}

impl UsageCounter {
    /// Counts the part of a message's usage that was not counted yet.
    pub(super) fn add_message(&mut self, message: &Message<'_>) {
        let added = self.count(message);
        self.turn = self.turn.plus(added);
        if let Some(model) = text(message.model).filter(|model| !model.starts_with('<')) {
            self.model = Some(model.into_owned());
        }
    }

    /// Notes a message of another session that was copied into this file. The totals include it.
    pub(super) fn add_copy(&mut self, message: &Message<'_>) {
        self.has_copies = true;
        self.count(message);
    }

    fn count(&mut self, message: &Message<'_>) -> Tokens {
        let Some(id) = text(message.id) else { return Tokens::default() };
        let tokens = Tokens::of_message(message);
        let known = self.messages.entry(hash(&*id)).or_default();
        let added = tokens.minus(*known);
        *known = known.max(tokens);
        self.since_totals = self.since_totals.plus(added);
        added
    }

    /// Totals of the session, cumulative over its processes. What they contain beyond the messages was used by requests
    /// that leave no message: compactions, titles.
    pub(super) fn add_totals(&mut self, by_model: Field<'_>, cost: Field<'_>) {
        let models: BTreeMap<String, ApiUsage<'_>> = decode(by_model);
        let totals = models.values().fold(Tokens::default(), |sum, model| sum.plus(Tokens::from_usage(model)));
        let process = totals.minus(self.totals);
        self.turn = self.turn.plus(process.minus(self.since_totals));
        if let Some(cost) = cost.and_then(|cost| cost.get().parse::<f64>().ok()) {
            // Of the cost of several turns, the share of each is not known.
            let is_known = (!self.has_copies || self.totals != Tokens::default()) && self.turns_since_totals == 0;
            if is_known && cost > self.cost {
                self.turn_cost = Some(round_cost(cost - self.cost));
            }
            self.cost = cost;
        }
        self.turns_since_totals = 0;
        self.totals = totals;
        self.since_totals = Tokens::default();
    }

    /// Takes the usage of the turn that ends; `None` if nothing was used.
    pub(super) fn take_turn(&mut self) -> Option<Usage> {
        let tokens = std::mem::take(&mut self.turn);
        let cost = self.turn_cost.take();
        self.turns_since_totals += 1;
        if tokens == Tokens::default() && cost.is_none() {
            return None;
        }
        let mut usage = tokens.to_usage().cost_usd(cost);
        usage.model.clone_from(&self.model);
        Some(usage)
    }
}
