//! A turn's share of figures that an agent counts over the whole session.

use interlingua_schema::Usage;

/// Turns totals that grow with the session into what each turn used.
///
/// ```
/// use interlingua_convert::CumulativeUsage;
/// use interlingua_schema::Usage;
///
/// let total = |input_tokens| Usage::new(input_tokens, 0);
/// let mut meter = CumulativeUsage::from_zero();
/// assert_eq!(meter.turn_usage(total(100)).input_tokens, 100);
/// assert_eq!(meter.turn_usage(total(250)).input_tokens, 150);
/// ```
#[derive(Clone, Debug, Default)]
pub struct CumulativeUsage {
    /// The total at the end of the turn before; absent while it is not known.
    before: Option<Usage>,
}

impl CumulativeUsage {
    /// A session that begins here.
    #[must_use]
    pub fn from_zero() -> Self {
        Self { before: Some(Usage::default()) }
    }

    /// A session that was resumed, and whose total so far is not known. The first turn's tokens are then taken as
    /// they are and its cost is left out.
    #[must_use]
    pub fn resumed() -> Self {
        Self { before: None }
    }

    /// Tells the total so far without ending a turn, as after a resume that reports it.
    pub fn set_baseline(&mut self, total: Usage) {
        self.before = Some(total);
    }

    /// The turn's own figures, from the total at its end. A total that went down counts as a new beginning.
    pub fn turn_usage(&mut self, total: Usage) -> Usage {
        let before = self.before.replace(total.clone());
        let Some(before) = before else {
            return total.cost_usd(None);
        };
        let cost_fell = matches!((total.cost_usd, before.cost_usd), (Some(now), Some(then)) if now < then);
        if total.input_tokens < before.input_tokens || total.output_tokens < before.output_tokens || cost_fell {
            return total;
        }
        let share = |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
        Usage::new(total.input_tokens - before.input_tokens, total.output_tokens - before.output_tokens)
            .cached_input_tokens(share(total.cached_input_tokens, before.cached_input_tokens))
            .cache_write_tokens(share(total.cache_write_tokens, before.cache_write_tokens))
            .reasoning_tokens(share(total.reasoning_tokens, before.reasoning_tokens))
            .cost_usd(total.cost_usd.map(|cost| cost - before.cost_usd.unwrap_or(0.0)))
            .model(total.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_resume_the_cost_is_left_out_once() {
        let total = Usage::new(10, 0).cost_usd(3.0);
        let mut meter = CumulativeUsage::resumed();
        assert_eq!(meter.turn_usage(total.clone()).cost_usd, None);
        assert_eq!(meter.turn_usage(total.cost_usd(3.5)).cost_usd, Some(0.5));
    }

    #[test]
    fn a_total_that_went_down_is_a_new_beginning() {
        let total = |input_tokens, cost: f64| Usage::new(input_tokens, 0).cost_usd(cost);
        let mut meter = CumulativeUsage::from_zero();
        meter.turn_usage(total(100, 3.0));
        assert_eq!(meter.turn_usage(total(40, 1.0)), total(40, 1.0));
        assert_eq!(meter.turn_usage(total(60, 0.5)), total(60, 0.5));
        assert_eq!(meter.turn_usage(total(70, 0.75)), total(10, 0.25));
    }
}
