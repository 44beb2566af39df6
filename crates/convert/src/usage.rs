//! Usage per turn, from totals that an agent counts over the whole session.

use interlingua_schema::Usage;

/// Computes the usage of each turn from cumulative totals of the session.
///
/// ```
/// use interlingua_convert::CumulativeUsage;
/// use interlingua_schema::Usage;
///
/// let total = |input_tokens| Usage::new(input_tokens, 0);
/// let mut usage = CumulativeUsage::from_zero();
/// assert_eq!(usage.turn_usage(total(100)).input_tokens, 100);
/// assert_eq!(usage.turn_usage(total(250)).input_tokens, 150);
/// ```
#[derive(Clone, Debug, Default)]
pub struct CumulativeUsage {
    /// Total at the end of the previous turn; `None` if unknown.
    previous: Option<Usage>,
}

impl CumulativeUsage {
    /// A session that starts now, with a total of zero.
    #[must_use]
    pub fn from_zero() -> Self {
        Self { previous: Some(Usage::default()) }
    }

    /// A resumed session whose total is unknown. The tokens of the first turn are taken as they are, and its cost is
    /// left out.
    #[must_use]
    pub fn resumed() -> Self {
        Self { previous: None }
    }

    /// Sets the total so far without ending a turn, for agents that report it after a resume.
    pub fn set_baseline(&mut self, total: Usage) {
        self.previous = Some(total);
    }

    /// Usage of a turn, from the total at its end. If the total is lower than before, the agent has started counting
    /// anew, and the total is the usage.
    pub fn turn_usage(&mut self, total: Usage) -> Usage {
        let Some(previous) = self.previous.replace(total.clone()) else {
            return total.cost_usd(None);
        };
        let cost_fell = matches!((total.cost_usd, previous.cost_usd), (Some(now), Some(then)) if now < then);
        if total.input_tokens < previous.input_tokens || total.output_tokens < previous.output_tokens || cost_fell {
            return total;
        }
        let share = |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
        Usage::new(total.input_tokens - previous.input_tokens, total.output_tokens - previous.output_tokens)
            .cached_input_tokens(share(total.cached_input_tokens, previous.cached_input_tokens))
            .cache_write_tokens(share(total.cache_write_tokens, previous.cache_write_tokens))
            .reasoning_tokens(share(total.reasoning_tokens, previous.reasoning_tokens))
            .cost_usd(total.cost_usd.map(|cost| cost - previous.cost_usd.unwrap_or(0.0)))
            .model(total.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_resume_the_cost_is_left_out_once() {
        let total = Usage::new(10, 0).cost_usd(3.0);
        let mut usage = CumulativeUsage::resumed();
        assert_eq!(usage.turn_usage(total.clone()).cost_usd, None);
        assert_eq!(usage.turn_usage(total.cost_usd(3.5)).cost_usd, Some(0.5));
    }

    #[test]
    fn a_lower_total_is_the_usage_of_the_turn() {
        let total = |input_tokens, cost: f64| Usage::new(input_tokens, 0).cost_usd(cost);
        let mut usage = CumulativeUsage::from_zero();
        usage.turn_usage(total(100, 3.0));
        assert_eq!(usage.turn_usage(total(40, 1.0)), total(40, 1.0));
        assert_eq!(usage.turn_usage(total(60, 0.5)), total(60, 0.5));
        assert_eq!(usage.turn_usage(total(70, 0.75)), total(10, 0.25));
    }
}
