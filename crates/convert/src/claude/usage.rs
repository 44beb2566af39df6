//! Tokens and cost of a turn.

use std::collections::BTreeMap;

use interlingua_native::claude::{ModelUsage, Usage as TurnUsage};
use interlingua_schema::Usage;
use serde_json::Number;

use super::to_u64;
use crate::CumulativeUsage;

/// Computes the usage of each turn from the session's totals.
///
/// The `usage` of a `result` counts only the main agent. Tokens of sub-agents and side requests are only in the totals
/// by model and in the cost. The usage of a turn includes all of them.
#[derive(Debug)]
pub(super) struct UsageMeter {
    totals: CumulativeUsage,
    /// The totals before this turn are known.
    has_baseline: bool,
}

impl Default for UsageMeter {
    fn default() -> Self {
        Self { totals: CumulativeUsage::from_zero(), has_baseline: true }
    }
}

impl UsageMeter {
    /// A process starts. The agent does not report what a resumed session has used so far.
    pub(super) fn process_started(&mut self, resumes: bool) {
        *self =
            if resumes { Self { totals: CumulativeUsage::resumed(), has_baseline: false } } else { Self::default() };
    }

    /// Resets the totals: the agent does so when the conversation is reset in the same process.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The usage of the turn that a `result` ends; `None` if the result has no usage.
    pub(super) fn turn_usage(
        &mut self,
        main_agent: Option<&TurnUsage>,
        by_model: Option<&BTreeMap<String, ModelUsage>>,
        cost: Option<&Number>,
        model: Option<&str>,
    ) -> Option<Usage> {
        let main_agent = main_agent.map(main_agent_usage);
        let mut total = Usage::default().cost_usd(cost.and_then(Number::as_f64));
        for usage in by_model.into_iter().flat_map(BTreeMap::values) {
            total += model_usage(usage);
        }
        if by_model.is_none() && main_agent.is_none() && total.cost_usd.is_none() {
            return None;
        }
        let counts_input = total.input_tokens > 0;
        let had_baseline = std::mem::replace(&mut self.has_baseline, true);
        let mut turn = self.totals.turn_usage(total);
        // Without totals or their baseline, only the main agent's usage is known. Versions up to 2.0.30 do not count
        // input tokens in the totals.
        let has_totals = had_baseline && counts_input;
        if !has_totals && let Some(main_agent) = main_agent {
            turn = main_agent.cost_usd(turn.cost_usd);
        }
        turn.model = match by_model.map(|models| models.keys().collect::<Vec<_>>()).as_deref() {
            Some([only]) => Some((*only).clone()),
            _ => model.map(str::to_owned),
        };
        Some(turn)
    }
}

/// Usage from the agent's counts, which do not include cached tokens in the input.
fn usage_from_counts(
    uncached: Option<&Number>,
    read: Option<&Number>,
    written: Option<&Number>,
    output: Option<&Number>,
) -> Usage {
    let (read, written) = (to_u64(read), to_u64(written));
    let input = to_u64(uncached).unwrap_or(0).saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0));
    Usage::new(input, to_u64(output).unwrap_or(0)).cached_input_tokens(read).cache_write_tokens(written)
}

fn main_agent_usage(usage: &TurnUsage) -> Usage {
    let thinking = usage.output_tokens_details.as_ref().and_then(|details| to_u64(details.thinking_tokens.as_ref()));
    usage_from_counts(
        usage.input_tokens.as_ref(),
        usage.cache_read_input_tokens.as_ref(),
        usage.cache_creation_input_tokens.as_ref(),
        usage.output_tokens.as_ref(),
    )
    .reasoning_tokens(thinking)
}

fn model_usage(usage: &ModelUsage) -> Usage {
    usage_from_counts(
        usage.input_tokens.as_ref(),
        usage.cache_read_input_tokens.as_ref(),
        usage.cache_creation_input_tokens.as_ref(),
        usage.output_tokens.as_ref(),
    )
    .reasoning_tokens(to_u64(usage.thinking_tokens.as_ref()))
}
