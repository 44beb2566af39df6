//! Token usage and cost of a turn.

use std::ops::AddAssign;

use crate::wire_struct;

wire_struct! {
    /// Tokens and cost of one turn, including its sub-agents. Never cumulative over the session.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Usage {
        /// All input tokens, including cached ones.
        pub input_tokens: u64,
        /// Input tokens that were read from a cache. Omitted if the agent does not report them.
        pub cached_input_tokens?: Option<u64>,
        /// Input tokens that were written to a cache. Omitted if the agent does not report them.
        pub cache_write_tokens?: Option<u64>,
        /// All output tokens, including reasoning.
        pub output_tokens: u64,
        /// Output tokens of reasoning. Omitted if the agent does not report them.
        pub reasoning_tokens?: Option<u64>,
        /// Cost in US dollars. Omitted if the agent does not report it or the turn's share is not known.
        pub cost_usd?: Option<f64>,
        /// The model that was used. Omitted if the agent does not report it.
        pub model?: Option<String>,
    }
    /// Usage with these token counts.
    new(input_tokens: u64, output_tokens: u64)
}

/// Adds the numbers. A number that only one side has is kept, and so is the first model.
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        add_optional(&mut self.cached_input_tokens, other.cached_input_tokens);
        add_optional(&mut self.cache_write_tokens, other.cache_write_tokens);
        add_optional(&mut self.reasoning_tokens, other.reasoning_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(round_cost(a + b)),
            (a, b) => a.or(b),
        };
        if self.model.is_none() {
            self.model = other.model;
        }
    }
}

/// Rounds a cost in US dollars to 1e-9. Sums of binary fractions have rounding errors that a decimal sum has not.
#[must_use]
pub fn round_cost(usd: f64) -> f64 {
    const UNITS_PER_USD: f64 = 1e9;
    (usd * UNITS_PER_USD).round() / UNITS_PER_USD
}

fn add_optional(total: &mut Option<u64>, more: Option<u64>) {
    *total = match (*total, more) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
}
