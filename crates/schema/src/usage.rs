//! What a turn cost.

use std::ops::AddAssign;

use crate::wire_struct;

wire_struct! {
    /// Tokens and cost of one turn, its sub-agents included; never cumulative over the session.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Usage {
        /// All input tokens, cached ones included.
        pub input_tokens: u64,
        /// The part of the input that was read from a cache; left out when the agent does not say.
        pub cached_input_tokens?: Option<u64>,
        /// The part of the input that was written to a cache; left out when the agent does not say.
        pub cache_write_tokens?: Option<u64>,
        /// All output tokens, reasoning included.
        pub output_tokens: u64,
        /// The part of the output that was reasoning; left out when the agent does not say.
        pub reasoning_tokens?: Option<u64>,
        /// Price in US dollars; left out when the agent does not say or the turn's share is not known.
        pub cost_usd?: Option<f64>,
        /// The model that was used; left out when the agent does not say.
        pub model?: Option<String>,
    }
    /// What went in and came out, in tokens.
    new(input_tokens: u64, output_tokens: u64)
}

/// Adds the figures; a figure that only one side knows is kept, and so is the first model named.
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        add(&mut self.cached_input_tokens, other.cached_input_tokens);
        add(&mut self.cache_write_tokens, other.cache_write_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(round_cost(a + b)),
            (a, b) => a.or(b),
        };
        if self.model.is_none() {
            self.model = other.model;
        }
    }
}

/// A price in US dollars, rounded to 1e-9: sums of binary fractions are not what a person adds up.
#[must_use]
pub fn round_cost(usd: f64) -> f64 {
    const UNITS_PER_USD: f64 = 1e9;
    (usd * UNITS_PER_USD).round() / UNITS_PER_USD
}

fn add(total: &mut Option<u64>, more: Option<u64>) {
    *total = match (*total, more) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
}
