//! `attachment` lines: mostly context for the model, and a few things that happened.

use serde::Deserialize;

use crate::json::{Field, ObjectWriter, number, text};

/// What an attachment contains, as far as it is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    pub(super) prompt: Field<'a>,
    #[serde(borrow)]
    pub(super) command_mode: Field<'a>,
    #[serde(borrow)]
    pub(super) origin: Field<'a>,
    #[serde(borrow)]
    pub(super) max_turns: Field<'a>,
    #[serde(borrow)]
    pub(super) filename: Field<'a>,
    #[serde(borrow)]
    hook_name: Field<'a>,
    #[serde(borrow)]
    hook_event: Field<'a>,
    #[serde(borrow)]
    stdout: Field<'a>,
    #[serde(borrow)]
    stderr: Field<'a>,
    #[serde(borrow)]
    content: Field<'a>,
    #[serde(borrow)]
    exit_code: Field<'a>,
    #[serde(borrow)]
    blocking_error: BlockingError<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BlockingError<'a> {
    #[serde(borrow)]
    blocking_error: Field<'a>,
}

/// The types of attachments that are more than context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachmentKind {
    /// A message that the agent took up in the middle of a turn.
    QueuedCommand,
    /// A hook ran.
    Hook,
    /// The turn ended with an output in a format that the host asked for.
    StructuredOutput,
    /// The turn ended because it had too many steps.
    MaxTurnsReached,
    /// A file was changed outside of the session.
    EditedFile,
    /// Context for the model.
    Context,
}

impl Attachment<'_> {
    pub(super) fn kind(&self) -> AttachmentKind {
        match text(self.kind).as_deref() {
            Some("queued_command") => AttachmentKind::QueuedCommand,
            Some(
                "hook_success" | "hook_blocking_error" | "hook_non_blocking_error" | "hook_error_during_execution",
            ) => AttachmentKind::Hook,
            Some("structured_output") => AttachmentKind::StructuredOutput,
            Some("max_turns_reached") => AttachmentKind::MaxTurnsReached,
            Some("edited_text_file") => AttachmentKind::EditedFile,
            _ => AttachmentKind::Context,
        }
    }

    /// The line that reports the hook on the wire.
    pub(super) fn hook_response(&self, id: Field<'_>, session_id: &str) -> String {
        let has_failed = text(self.kind).as_deref() != Some("hook_success");
        let error = text(self.blocking_error.blocking_error);
        let stdout = text(self.stdout).or_else(|| text(self.content));
        let mut line = ObjectWriter::with_capacity(256);
        line.text("type", "system").text("subtype", "hook_response").text("session_id", session_id);
        line.text("hook_id", &text(id).unwrap_or_default());
        line.optional_text("hook_name", text(self.hook_name).as_deref());
        line.optional_text("hook_event", text(self.hook_event).as_deref());
        let output = error.as_deref().or(stdout.as_deref()).unwrap_or_default();
        line.text("output", output).text("stdout", output);
        line.text("stderr", &text(self.stderr).unwrap_or_default());
        line.number("exit_code", number(self.exit_code).filter(|_| !has_failed));
        line.text("outcome", if has_failed { "error" } else { "success" });
        line.finish()
    }
}
