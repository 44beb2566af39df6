//! Lines of a Claude Code session file.

use serde::Deserialize;

use crate::json::{Field, decode, flag, hash, text};

/// One line. Only the fields that are used are parsed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) subtype: Field<'a>,
    #[serde(borrow)]
    pub(super) uuid: Field<'a>,
    #[serde(borrow)]
    pub(super) parent_uuid: Field<'a>,
    #[serde(borrow)]
    pub(super) logical_parent_uuid: Field<'a>,
    #[serde(borrow)]
    pub(super) leaf_uuid: Field<'a>,
    #[serde(borrow)]
    pub(super) session_id: Field<'a>,
    #[serde(borrow)]
    pub(super) request_session_id: Field<'a>,
    #[serde(borrow)]
    pub(super) is_sidechain: Field<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Field<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Field<'a>,
    #[serde(borrow)]
    pub(super) cwd: Field<'a>,
    #[serde(borrow)]
    pub(super) version: Field<'a>,
    #[serde(borrow)]
    pub(super) permission_mode: Field<'a>,
    #[serde(borrow)]
    pub(super) prompt_id: Field<'a>,
    #[serde(borrow)]
    pub(super) turn_position: Field<'a>,
    #[serde(borrow)]
    pub(super) is_meta: Field<'a>,
    #[serde(borrow)]
    pub(super) is_compact_summary: Field<'a>,
    #[serde(borrow)]
    pub(super) origin: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_use_result: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_denial_kind: Field<'a>,
    #[serde(borrow)]
    pub(super) is_api_error_message: Field<'a>,
    #[serde(borrow)]
    pub(super) api_error_status: Field<'a>,
    #[serde(borrow)]
    pub(super) api_error_type: Field<'a>,
    #[serde(borrow)]
    pub(super) is_aborted_mid_stream: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) level: Field<'a>,
    #[serde(borrow)]
    pub(super) compact_metadata: Field<'a>,
    #[serde(borrow)]
    pub(super) retry_attempt: Field<'a>,
    #[serde(borrow)]
    pub(super) max_retries: Field<'a>,
    #[serde(borrow)]
    pub(super) retry_in_ms: Field<'a>,
    #[serde(borrow)]
    pub(super) original_model: Field<'a>,
    #[serde(borrow)]
    pub(super) fallback_model: Field<'a>,
    #[serde(borrow)]
    pub(super) attachment: Field<'a>,
    #[serde(borrow)]
    pub(super) operation: Field<'a>,
    #[serde(borrow)]
    pub(super) hook_infos: Field<'a>,
    #[serde(borrow)]
    pub(super) hook_errors: Field<'a>,
    #[serde(borrow)]
    pub(super) model_usage: Field<'a>,
}

impl<'a> Line<'a> {
    pub(super) fn parse(line: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }

    /// The type of the line, as far as it decides what to do with it.
    pub(super) fn kind(&self) -> LineKind {
        match text(self.kind).as_deref() {
            Some("user") => LineKind::User,
            Some("assistant") => LineKind::Assistant,
            Some("system") => LineKind::System,
            Some("attachment") => LineKind::Attachment,
            Some("queue-operation") => LineKind::QueueOperation,
            Some("cost-state") => LineKind::CostState,
            Some("summary") => LineKind::Summary,
            Some(
                "last-prompt" | "mode" | "atis-latch" | "tools-used" | "permission-mode" | "agent-name"
                | "agent-setting" | "custom-title" | "ai-title" | "tag" | "pr-link" | "worktree-state",
            ) => LineKind::StateEcho,
            Some("file-history-snapshot" | "attribution-snapshot" | "content-replacement") => LineKind::Bookkeeping,
            Some("progress") => LineKind::Progress,
            Some(kind) if kind.starts_with("api-request") => LineKind::ApiRequest,
            _ => LineKind::Unknown,
        }
    }

    /// Hash of the line's own id.
    pub(super) fn id(&self) -> Option<u64> {
        text(self.uuid).map(|uuid| hash(&*uuid))
    }

    /// Hash of the id of the line before, in the conversation.
    pub(super) fn parent(&self) -> Option<u64> {
        text(self.parent_uuid).or_else(|| text(self.logical_parent_uuid)).map(|uuid| hash(&*uuid))
    }

    pub(super) fn is_side_chain(&self) -> bool {
        flag(self.is_sidechain)
    }

    /// The message. Its content is not parsed yet.
    pub(super) fn message(&self) -> Message<'a> {
        decode(self.message)
    }
}

/// The types of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    User,
    Assistant,
    System,
    /// Context for the model, and some things that happened.
    Attachment,
    /// A prompt enters or leaves the queue.
    QueueOperation,
    /// Totals of the session.
    CostState,
    /// Title of another session.
    Summary,
    /// State of the user interface.
    StateEcho,
    /// Copies of files, for undoing changes.
    Bookkeeping,
    /// Progress of a running tool, which its result repeats.
    Progress,
    /// What was sent to the model.
    ApiRequest,
    Unknown,
}

/// A message of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
}

impl<'a> Message<'a> {
    /// The content blocks. A plain text is one block without a type.
    pub(super) fn blocks(&self) -> Vec<Block<'a>> {
        match self.content {
            Some(content) if content.get().starts_with('[') => decode(self.content),
            Some(content) => vec![Block { text: Some(content), ..Block::default() }],
            None => Vec::new(),
        }
    }
}

/// A content block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
}

impl Block<'_> {
    /// Id of the call that this block makes.
    pub(super) fn call_id(&self) -> Option<String> {
        (text(self.kind)? == "tool_use").then(|| text(self.id).map(std::borrow::Cow::into_owned)).flatten()
    }

    /// Id of the call whose result this block is.
    pub(super) fn result_id(&self) -> Option<String> {
        (text(self.kind)? == "tool_result").then(|| text(self.tool_use_id).map(std::borrow::Cow::into_owned)).flatten()
    }
}

/// The text of all text blocks.
pub(super) fn joined_text(blocks: &[Block<'_>]) -> String {
    blocks.iter().filter_map(|block| text(block.text)).collect()
}
