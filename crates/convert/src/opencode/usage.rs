//! Tokens and cost. OpenCode counts per step, cached input apart from the rest.

use interlingua_native::opencode::{
    AssistantMessageTokens, EventSessionNextStepEndedPropertiesTokens, StepFinishPartTokens,
};
use interlingua_schema::Usage;
use serde_json::Number;

use super::session::Session;
use crate::Drafts;

/// The figures of a step, as any of the generations tell them.
#[derive(Clone, Copy, Default)]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache_read: u64,
    cache_write: u64,
    /// Everything together. Without it, what counts as output includes the reasoning.
    total: Option<u64>,
}

impl Tokens {
    pub(super) fn is_zero(self) -> bool {
        self.input + self.output + self.reasoning + self.cache_read + self.cache_write == 0
    }

    fn usage(self, cost: Option<&Number>, model: Option<String>) -> Usage {
        let input_tokens = self.input + self.cache_read + self.cache_write;
        let output_tokens = match self.total {
            Some(total) if total >= input_tokens + self.output => total - input_tokens,
            _ => self.output.max(self.reasoning),
        };
        Usage::new(input_tokens, output_tokens)
            .cached_input_tokens(self.cache_read)
            .cache_write_tokens(self.cache_write)
            .reasoning_tokens(self.reasoning)
            .cost_usd(cost.and_then(Number::as_f64))
            .model(model)
    }
}

/// The figures of one of the native types, which share these fields.
macro_rules! counted {
    ($tokens:ident, $total:expr) => {{
        let cache = $tokens.cache.as_ref();
        Self {
            input: count($tokens.input.as_ref()),
            output: count($tokens.output.as_ref()),
            reasoning: count($tokens.reasoning.as_ref()),
            cache_read: count(cache.and_then(|cache| cache.read.as_ref())),
            cache_write: count(cache.and_then(|cache| cache.write.as_ref())),
            total: $total,
        }
    }};
}

impl From<&StepFinishPartTokens> for Tokens {
    fn from(tokens: &StepFinishPartTokens) -> Self {
        counted!(tokens, tokens.total.as_ref().map(|total| count(Some(total))))
    }
}

impl From<&AssistantMessageTokens> for Tokens {
    fn from(tokens: &AssistantMessageTokens) -> Self {
        counted!(tokens, tokens.total.as_ref().map(|total| count(Some(total))))
    }
}

impl From<&EventSessionNextStepEndedPropertiesTokens> for Tokens {
    fn from(tokens: &EventSessionNextStepEndedPropertiesTokens) -> Self {
        let told = counted!(tokens, None);
        // Here the reasoning is no part of the output, as it is where there is a total.
        Self { output: told.output + told.reasoning, ..told }
    }
}

impl Session {
    /// Adds the figures of a step to the turn's, once; says whether they were not there yet.
    pub(super) fn count(
        &mut self,
        step: &str,
        tokens: Tokens,
        cost: Option<&Number>,
        model: Option<String>,
        out: &mut Drafts,
    ) -> bool {
        let new = self.run.counted.insert(step.to_owned());
        if new {
            out.session(self.id.as_str()).add_usage(tokens.usage(cost, model));
        }
        new
    }
}

/// No figure is larger than this, so that sums of a few never overflow whatever was sent.
const MOST: u64 = 1 << 53;

fn count(number: Option<&Number>) -> u64 {
    let Some(number) = number else { return 0 };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens are small whole numbers")]
    let rounded = || number.as_f64().map_or(0, |number| number.max(0.0) as u64);
    number.as_u64().unwrap_or_else(rounded).min(MOST)
}
