//! Lines of a rollout file.

use serde::Deserialize;

use crate::json::{Field, text};

/// One line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Field<'a>,
    #[serde(borrow)]
    pub(super) payload: Field<'a>,
}

impl<'a> Line<'a> {
    pub(super) fn parse(line: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

/// The content of a line, as far as it is used. The types of lines have no fields with the same name and different
/// meanings.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    // `session_meta`
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) session_id: Field<'a>,
    #[serde(borrow)]
    pub(super) parent_thread_id: Field<'a>,
    #[serde(borrow)]
    pub(super) forked_from_id: Field<'a>,
    #[serde(borrow)]
    pub(super) cli_version: Field<'a>,
    #[serde(borrow)]
    pub(super) cwd: Field<'a>,
    #[serde(borrow)]
    pub(super) source: Field<'a>,
    #[serde(borrow)]
    pub(super) model_provider: Field<'a>,
    // `turn_context`
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) approval_policy: Field<'a>,
    #[serde(borrow)]
    pub(super) effort: Field<'a>,
    #[serde(borrow)]
    pub(super) sandbox_policy: Field<'a>,
    #[serde(borrow)]
    pub(super) collaboration_mode: Field<'a>,
    // events of turns
    #[serde(borrow)]
    pub(super) turn_id: Field<'a>,
    #[serde(borrow)]
    pub(super) root_turn_id: Field<'a>,
    #[serde(borrow)]
    pub(super) last_agent_message: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) duration_ms: Field<'a>,
    #[serde(borrow)]
    pub(super) num_turns: Field<'a>,
    // items
    #[serde(borrow)]
    pub(super) item: Field<'a>,
    #[serde(borrow)]
    pub(super) started_at_ms: Field<'a>,
    #[serde(borrow)]
    pub(super) call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) namespace: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    #[serde(borrow)]
    pub(super) output: Field<'a>,
    #[serde(borrow)]
    pub(super) action: Field<'a>,
    #[serde(borrow)]
    pub(super) query: Field<'a>,
    #[serde(borrow)]
    pub(super) role: Field<'a>,
    #[serde(borrow)]
    pub(super) summary: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) status: Field<'a>,
    #[serde(borrow)]
    pub(super) result: Field<'a>,
    #[serde(borrow)]
    pub(super) revised_prompt: Field<'a>,
    #[serde(borrow)]
    pub(super) saved_path: Field<'a>,
    // events of older formats
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) images: Field<'a>,
    #[serde(borrow)]
    pub(super) local_images: Field<'a>,
    #[serde(borrow)]
    pub(super) invocation: Field<'a>,
    #[serde(borrow)]
    pub(super) duration: Field<'a>,
    #[serde(borrow)]
    pub(super) changes: Field<'a>,
    #[serde(borrow)]
    pub(super) success: Field<'a>,
    #[serde(borrow)]
    pub(super) stdout: Field<'a>,
    #[serde(borrow)]
    pub(super) stderr: Field<'a>,
    #[serde(borrow)]
    pub(super) path: Field<'a>,
    #[serde(borrow)]
    pub(super) review_output: Field<'a>,
    #[serde(borrow)]
    pub(super) user_facing_hint: Field<'a>,
    #[serde(borrow)]
    pub(super) thread_name: Field<'a>,
    #[serde(borrow)]
    pub(super) info: Field<'a>,
}

/// Whether a line is one of a rollout file.
pub(crate) fn is_line(line: &str) -> bool {
    let Ok(line) = Line::parse(line) else { return false };
    let kinds = ["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
    line.payload.is_some() && line.timestamp.is_some() && text(line.kind).is_some_and(|kind| kinds.contains(&&*kind))
}
