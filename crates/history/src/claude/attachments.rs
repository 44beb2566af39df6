//! `attachment` lines: mostly context for the model, and a few things that happened.

use interlingua_convert::{Failure, Note};
use interlingua_schema::ErrorCode;
use serde::Deserialize;

use super::line::{Line, joined_text};
use super::scan::is_injected;
use super::translate::Translator;
use super::turn::LastStep;
use crate::json::{Field, ObjectWriter, decode, number, text};
use crate::output::Output;

/// What an attachment contains, as far as it is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    prompt: Field<'a>,
    #[serde(borrow)]
    command_mode: Field<'a>,
    #[serde(borrow)]
    origin: Field<'a>,
    #[serde(borrow)]
    max_turns: Field<'a>,
    #[serde(borrow)]
    filename: Field<'a>,
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
    command: Field<'a>,
    #[serde(borrow)]
    blocking_error: BlockingError<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BlockingError<'a> {
    #[serde(borrow)]
    blocking_error: Field<'a>,
    #[serde(borrow)]
    command: Field<'a>,
}

/// The types of attachments that are more than context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttachmentKind {
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
    /// A type that no known version has.
    Unknown,
}

/// Types of attachments that are only context for the model.
const CONTEXT: [&str; 54] = [
    "agent_listing_delta",
    "agent_mention",
    "already_read_file",
    "auto_mode",
    "auto_mode_exit",
    "budget_usd",
    "command_permissions",
    "compact_file_reference",
    "compaction_reminder",
    "context_efficiency",
    "critical_system_reminder",
    "current_session_memory",
    "date",
    "date_change",
    "deferred_tools_delta",
    "diagnostics",
    "directory",
    "dynamic_skill",
    "edited_image_file",
    "environment",
    "file",
    "hook_additional_context",
    "hook_permission_decision",
    "invoked_skills",
    "mcp_instructions_delta",
    "mcp_resource",
    "model",
    "nested_memory",
    "opened_file_in_ide",
    "output_style",
    "output_token_usage",
    "pdf_reference",
    "plan_file_reference",
    "plan_mode",
    "plan_mode_exit",
    "plan_mode_reentry",
    "prompt_snapshot",
    "relevant_memories",
    "remote_session_change",
    "selected_lines_in_ide",
    "session_context",
    "skill_discovery",
    "skill_listing",
    "task_reminder",
    "task_status",
    "team_context",
    "teammate_mailbox",
    "teammate_shutdown_batch",
    "todo",
    "todo_reminder",
    "token_usage",
    "total_tokens_reminder",
    "ultrathink_effort",
    "verify_plan_reminder",
];

impl Attachment<'_> {
    fn kind(&self) -> AttachmentKind {
        match text(self.kind).as_deref() {
            Some("queued_command") => AttachmentKind::QueuedCommand,
            Some(
                "hook_success"
                | "hook_blocking_error"
                | "hook_non_blocking_error"
                | "hook_error_during_execution"
                | "hook_cancelled"
                | "hook_stopped_continuation"
                | "hook_system_message"
                | "async_hook_response",
            ) => AttachmentKind::Hook,
            Some("structured_output") => AttachmentKind::StructuredOutput,
            Some("max_turns_reached") => AttachmentKind::MaxTurnsReached,
            Some("edited_text_file") => AttachmentKind::EditedFile,
            Some(kind) if CONTEXT.contains(&kind) => AttachmentKind::Context,
            _ => AttachmentKind::Unknown,
        }
    }

    /// The line that reports the hook on the wire.
    fn hook_response(&self, id: Field<'_>, session_id: &str) -> String {
        let has_failed =
            !matches!(text(self.kind).as_deref(), Some("hook_success" | "hook_system_message" | "async_hook_response"));
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

impl Translator {
    pub(super) fn attachment(&mut self, json: &str, line: &Line<'_>, out: &mut Output<'_>) {
        let attachment: Attachment<'_> = decode(line.attachment);
        match attachment.kind() {
            AttachmentKind::QueuedCommand => self.queued_command(json, line, &attachment, out),
            AttachmentKind::Hook => {
                self.start_session(line, out);
                if text(attachment.hook_event).is_some_and(|event| event.ends_with("Stop")) {
                    let command = text(attachment.command).or_else(|| text(attachment.blocking_error.command));
                    self.reported_hooks.extend(command.map(std::borrow::Cow::into_owned));
                }
                out.receive(json, &attachment.hook_response(line.uuid, &self.session_id));
            }
            AttachmentKind::StructuredOutput => {
                self.turn.is_over = true;
                out.drop_record("output of the turn, which its call contains");
            }
            AttachmentKind::MaxTurnsReached => {
                self.start_session(line, out);
                self.turn.is_over = true;
                let limit = number(attachment.max_turns).unwrap_or_default();
                let failure = Failure::new(ErrorCode::Limit, format!("Reached maximum number of turns ({limit})"));
                out.receive_drafts(json, |drafts| drafts.session(&self.session_id).failed(failure));
            }
            AttachmentKind::EditedFile => {
                self.start_session(line, out);
                let file = text(attachment.filename).unwrap_or_default();
                let note = Note::notice(format!("{file} was changed outside of the session"));
                out.receive_drafts(json, |drafts| drafts.session(&self.session_id).note(note));
            }
            AttachmentKind::Context => out.drop_record("context for the model"),
            AttachmentKind::Unknown => {
                self.start_session(line, out);
                let kind = text(attachment.kind).map(|kind| format!("attachment/{kind}"));
                self.unparsed(json, "unknown type of attachment", kind, out);
            }
        }
    }

    /// A message that the agent took up in the middle of a turn.
    fn queued_command(&mut self, json: &str, line: &Line<'_>, attachment: &Attachment<'_>, out: &mut Output<'_>) {
        let mut message = ObjectWriter::with_capacity(256);
        message.text("role", "user").raw("content", attachment.prompt);
        let message = message.finish();
        let Ok(message) = serde_json::from_str(&message) else { return };
        let line = Line { message: Some(message), ..line.clone() };
        let content = joined_text(&line.message().blocks());
        let is_notification = text(attachment.command_mode).as_deref() == Some("task-notification");
        if is_notification || is_injected(attachment.origin) {
            return self.injected_message(json, &line, &content, out);
        }
        self.start_session(&line, out);
        self.start_turn(out);
        self.turn.observe(LastStep::Prompt);
        out.receive(json, &self.message_line(&line, None, false));
    }
}
