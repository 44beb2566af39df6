//! Tokens and cost. OpenCode counts per step and reports cached input separately.

use interlingua_native::opencode::{
    AssistantMessageTokens, EventSessionNextStepEndedPropertiesTokens, StepFinishPartTokens,
};
use interlingua_schema::Usage;
use serde_json::Number;

use super::session::Session;
use crate::Drafts;

/// Tokens of a step, in any generation.
#[derive(Clone, Copy, Default)]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache_read: u64,
    cache_write: u64,
    /// Sum of all tokens. Without it, `output` includes the reasoning.
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

/// Reads the tokens of one of the native types, which share these fields.
macro_rules! read_tokens {
    ($tokens:ident, $total:expr) => {{
        let cache = $tokens.cache.as_ref();
        Self {
            input: read_count($tokens.input.as_ref()),
            output: read_count($tokens.output.as_ref()),
            reasoning: read_count($tokens.reasoning.as_ref()),
            cache_read: read_count(cache.and_then(|cache| cache.read.as_ref())),
            cache_write: read_count(cache.and_then(|cache| cache.write.as_ref())),
            total: $total,
        }
    }};
}

impl From<&StepFinishPartTokens> for Tokens {
    fn from(tokens: &StepFinishPartTokens) -> Self {
        read_tokens!(tokens, tokens.total.as_ref().map(|total| read_count(Some(total))))
    }
}

impl From<&AssistantMessageTokens> for Tokens {
    fn from(tokens: &AssistantMessageTokens) -> Self {
        read_tokens!(tokens, tokens.total.as_ref().map(|total| read_count(Some(total))))
    }
}

impl From<&EventSessionNextStepEndedPropertiesTokens> for Tokens {
    fn from(tokens: &EventSessionNextStepEndedPropertiesTokens) -> Self {
        let read = read_tokens!(tokens, None);
        // Here `output` does not include the reasoning.
        Self { output: read.output + read.reasoning, ..read }
    }
}

impl Session {
    /// Adds the usage of a step to the turn, once. Returns whether it was new.
    pub(super) fn count_usage(
        &mut self,
        step: &str,
        tokens: Tokens,
        cost: Option<&Number>,
        model: Option<String>,
        out: &mut Drafts,
    ) -> bool {
        let is_new = self.turn.counted_steps.insert(step.to_owned());
        if is_new {
            out.session(self.id.as_str()).add_usage(tokens.usage(cost, model));
        }
        is_new
    }
}

/// Upper bound of a token count, so that sums of a few counts never overflow.
const MAX_TOKENS: u64 = 1 << 53;

fn read_count(number: Option<&Number>) -> u64 {
    let Some(number) = number else { return 0 };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens are small whole numbers")]
    let rounded = || number.as_f64().map_or(0, |number| number.max(0.0) as u64);
    number.as_u64().unwrap_or_else(rounded).min(MAX_TOKENS)
}
