//! Tokens and cost of a turn.

use std::collections::BTreeMap;

use interlingua_native::claude::{ModelUsage, Usage as TurnUsage};
use interlingua_schema::Usage;
use serde_json::Number;

use super::whole;
use crate::CumulativeUsage;

/// Turns the totals of the session into the turn's own.
///
/// The tokens of a `result` are the agent's own; those of its sub-agents and side requests are only in the totals by
/// model, and in the cost. All of them count in the turn.
#[derive(Debug)]
pub(super) struct Meter {
    totals: CumulativeUsage,
    /// The total before this turn is known.
    has_baseline: bool,
}

impl Default for Meter {
    fn default() -> Self {
        Self { totals: CumulativeUsage::from_zero(), has_baseline: true }
    }
}

impl Meter {
    /// A process begins. What a session that goes on has used so far is not told.
    pub(super) fn launched(&mut self, resumed: bool) {
        *self =
            if resumed { Self { totals: CumulativeUsage::resumed(), has_baseline: false } } else { Self::default() };
    }

    /// The conversation begins anew in the same process, and with it the totals.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(super) fn turn(
        &mut self,
        own: Option<&TurnUsage>,
        by_model: Option<&BTreeMap<String, ModelUsage>>,
        cost: Option<&Number>,
        model: Option<&str>,
    ) -> Option<Usage> {
        let own = own.map(tokens);
        let mut total = Usage::default().cost_usd(cost.and_then(Number::as_f64));
        for usage in by_model.into_iter().flat_map(BTreeMap::values) {
            total += by_model_tokens(usage);
        }
        if by_model.is_none() && own.is_none() && total.cost_usd.is_none() {
            return None;
        }
        let counts_input = total.input_tokens > 0;
        let had_baseline = std::mem::replace(&mut self.has_baseline, true);
        let mut turn = self.totals.turn_usage(total);
        // Without totals, or without knowing where they began, there are only the agent's own. Totals without any
        // input are those of versions up to 2.0.30, which do not count it.
        let has_totals = had_baseline && counts_input;
        if !has_totals && let Some(own) = own {
            turn = own.cost_usd(turn.cost_usd);
        }
        turn.model = match by_model.map(|models| models.keys().collect::<Vec<_>>()).as_deref() {
            Some([only]) => Some((*only).clone()),
            _ => model.map(str::to_owned),
        };
        Some(turn)
    }
}

/// The agent counts what it reads and writes of the cache apart from the rest of the input.
fn sum(rest: Option<&Number>, read: Option<&Number>, written: Option<&Number>, output: Option<&Number>) -> Usage {
    let (read, written) = (whole(read), whole(written));
    let input = whole(rest).unwrap_or(0).saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0));
    Usage::new(input, whole(output).unwrap_or(0)).cached_input_tokens(read).cache_write_tokens(written)
}

fn tokens(usage: &TurnUsage) -> Usage {
    let thinking = usage.output_tokens_details.as_ref().and_then(|details| whole(details.thinking_tokens.as_ref()));
    sum(
        usage.input_tokens.as_ref(),
        usage.cache_read_input_tokens.as_ref(),
        usage.cache_creation_input_tokens.as_ref(),
        usage.output_tokens.as_ref(),
    )
    .reasoning_tokens(thinking)
}

fn by_model_tokens(usage: &ModelUsage) -> Usage {
    sum(
        usage.input_tokens.as_ref(),
        usage.cache_read_input_tokens.as_ref(),
        usage.cache_creation_input_tokens.as_ref(),
        usage.output_tokens.as_ref(),
    )
    .reasoning_tokens(whole(usage.thinking_tokens.as_ref()))
}
