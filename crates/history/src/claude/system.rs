//! `system` lines: compactions, retries, remarks, and commands that ran without the model.

use serde::Deserialize;

use super::line::Line;
use super::translate::{Translator, slash_command};
use crate::json::{Field, ObjectWriter, decode, number, text};
use crate::output::Output;

impl Translator {
    pub(super) fn system(&mut self, json: &str, line: &Line<'_>, out: &mut Output<'_>) {
        let subtype = text(line.subtype).unwrap_or_default();
        let mut wire = ObjectWriter::with_capacity(256);
        wire.text("type", "system").text("session_id", &self.session_id);
        match &*subtype {
            "compact_boundary" => {
                let metadata: CompactMetadata<'_> = decode(line.compact_metadata);
                let mut wire_metadata = ObjectWriter::with_capacity(64);
                wire_metadata.raw("trigger", metadata.trigger);
                wire_metadata.raw("pre_tokens", metadata.pre_tokens).raw("post_tokens", metadata.post_tokens);
                wire.text("subtype", "compact_boundary").json("compact_metadata", &wire_metadata.finish());
            }
            "api_error" => {
                let error: ApiError<'_> = decode(line.error);
                let status = number(error.status);
                wire.text("subtype", "api_retry").number("attempt", number(line.retry_attempt));
                wire.number("max_retries", number(line.max_retries));
                wire.number("retry_delay_ms", number(line.retry_in_ms)).number("error_status", status);
                wire.text("error", error_name(status));
            }
            "informational" => {
                wire.text("subtype", "informational").raw("content", line.content).raw("level", line.level);
            }
            "model_fallback" => {
                wire.text("subtype", "model_fallback").raw("content", line.content);
                wire.raw("original_model", line.original_model).raw("fallback_model", line.fallback_model);
            }
            "local_command" => return self.local_command(json, line, out),
            "stop_hook_summary" => return self.stop_hooks(json, line, out),
            "turn_duration"
            | "away_summary"
            | "bridge_status"
            | "memory_saved"
            | "permission_retry"
            | "microcompact_boundary"
            | "scheduled_task_fire"
            | "agents_killed" => {
                return out.drop_record("state of the user interface");
            }
            _ => return self.unparsed(json, "unknown type of line", Some(format!("system/{subtype}")), out),
        }
        self.start_session(line, out);
        out.receive(json, &wire.finish());
    }

    /// The hooks that ran when the agent stopped, except those that were reported one by one.
    fn stop_hooks(&mut self, json: &str, line: &Line<'_>, out: &mut Output<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct HookInfo<'a> {
            #[serde(borrow)]
            command: Field<'a>,
        }
        let infos: Vec<HookInfo<'_>> = decode(line.hook_infos);
        let errors: Vec<String> = decode(line.hook_errors);
        let reported = std::mem::take(&mut self.reported_hooks);
        let id = text(line.uuid).unwrap_or_default();
        self.start_session(line, out);
        let mut is_empty = true;
        for (index, info) in infos.iter().enumerate() {
            let command = text(info.command).unwrap_or_default();
            if reported.contains(&*command) {
                continue;
            }
            let error = errors.iter().find_map(|error| error.strip_prefix(&format!("[{command}]: ")));
            let mut wire = ObjectWriter::with_capacity(256);
            wire.text("type", "system").text("subtype", "hook_response").text("session_id", &self.session_id);
            wire.text("hook_id", &format!("{id}:{index}")).text("hook_name", "Stop").text("hook_event", "Stop");
            let output = error.unwrap_or_default();
            wire.text("output", output).text("stdout", "").text("stderr", output);
            wire.text("outcome", if error.is_some() { "error" } else { "success" });
            out.receive(json, &wire.finish());
            is_empty = false;
        }
        if is_empty {
            out.drop_record("summary of hooks that were reported one by one");
        }
    }

    /// A command that ran without the model. Some versions mark it by its type, others by its text.
    fn local_command(&mut self, json: &str, line: &Line<'_>, out: &mut Output<'_>) {
        let content = text(line.content).unwrap_or_default();
        let mut message = ObjectWriter::with_capacity(content.len() + 64);
        message.text("role", "user").text("content", &content);
        let message = message.finish();
        let Ok(message) = serde_json::from_str(&message) else { return };
        let line = Line { message: Some(message), ..line.clone() };
        if slash_command(&content).is_some() {
            self.prompt(json, &line, &content, out);
        } else {
            self.injected_message(json, &line, &content, out);
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CompactMetadata<'a> {
    #[serde(borrow)]
    trigger: Field<'a>,
    #[serde(borrow)]
    pre_tokens: Field<'a>,
    #[serde(borrow)]
    post_tokens: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ApiError<'a> {
    #[serde(borrow)]
    status: Field<'a>,
}

/// The name that the wire has for a failed request with this status.
fn error_name(status: Option<u64>) -> &'static str {
    match status {
        Some(401 | 403) => "authentication_failed",
        Some(429) => "rate_limit",
        Some(529) => "overloaded",
        Some(400..=499) => "invalid_request",
        Some(500..) => "server_error",
        _ => "unknown",
    }
}
