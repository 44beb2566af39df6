//! Tools of the v2 API. Their input streams, then they are called and succeed or fail.

use interlingua_native::Json;
use interlingua_native::opencode as native;
use interlingua_native::opencode::LlmToolContent;
use interlingua_schema::{CommandInput, ContentPart, ToolInput, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::changes::{ToolMetadata, file_refs};
use super::kinds::{ToolKinds, built_in_kind};
use super::next::Properties;
use super::outputs::{clean_error, clean_output};
use super::tools::with_input;
use super::user_messages::file_content;
use super::{OpenCodeConverter, report_incomplete};
use crate::{Drafts, ToolCall, ToolResult};

impl OpenCodeConverter {
    pub(super) fn next_shell_started(
        &mut self,
        properties: Properties<native::EventSessionNextShellStartedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextShellStartedProperties {
            session_id: Some(id),
            call_id: Some(call),
            command,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.shell.started", out);
        };
        self.sessions.get_or_insert(&id).take_shell_prompt();
        let arguments = json!({ "command": command }).to_string();
        let tool = ToolCall::new(call.as_str(), "shell")
            .kind(ToolKind::Command)
            .arguments(arguments)
            .input(command.map(|command| ToolInput::Command(CommandInput::new(command))))
            .native_id(call.as_str());
        self.next_session(&id, out).tool_called(call, tool);
    }

    pub(super) fn next_shell_ended(
        &mut self,
        properties: Properties<native::EventSessionNextShellEndedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextShellEndedProperties {
            session_id: Some(id),
            call_id: Some(call),
            output,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.shell.ended", out);
        };
        let output = clean_output("shell", Some(&ToolKind::Command), output.unwrap_or_default(), false);
        self.next_session(&id, out).tool_finished(call, ToolResult::ok(output));
    }

    pub(super) fn next_tool_input_started(
        &mut self,
        properties: Properties<native::EventSessionNextToolInputStartedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextToolInputStartedProperties {
            session_id: Some(id),
            call_id: Some(call),
            assistant_message_id,
            name,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.tool.input.started", out);
        };
        let name = self.sessions.get_or_insert(&id).tool_name(name, Some(&call));
        let mut tool = ToolCall::new(call.as_str(), name.as_str()).native_id(call.as_str());
        tool.kind = ToolKinds::new(&self.mcp_servers).pending_kind(&name);
        let session = self.sessions.get_or_insert(&id);
        let key = session.start_call(&call, assistant_message_id.as_deref());
        session.known_call_ids.insert(call, ());
        session.open_tools.entry(key.clone()).or_default();
        tool.native_message = assistant_message_id.map(Into::into);
        self.next_session(&id, out).tool_started(key, tool);
    }

    pub(super) fn next_tool_input_delta(
        &mut self,
        properties: Properties<native::EventSessionNextToolInputDeltaProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextToolInputDeltaProperties {
            session_id: Some(id),
            call_id: Some(call),
            delta: Some(delta),
            ..
        }) = properties
        else {
            return report_incomplete("session.next.tool.input.delta", out);
        };
        let key = self.sessions.get_or_insert(&id).call_key(call);
        self.next_session(&id, out).tool_arguments(key, delta);
    }

    pub(super) fn next_tool_called(
        &mut self,
        properties: Properties<native::EventSessionNextToolCalledProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextToolCalledProperties {
            session_id: Some(id),
            call_id: Some(call),
            assistant_message_id,
            tool,
            input,
            provider,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.tool.called", out);
        };
        let name = self.sessions.get_or_insert(&id).tool_name(tool, Some(&call));
        let is_provider_executed = provider.and_then(|provider| provider.executed) == Some(true);
        let kinds = ToolKinds { is_provider_executed, ..ToolKinds::new(&self.mcp_servers) };
        let tool = ToolCall::new(call.as_str(), name.as_str()).native_id(call.as_str());
        let mut tool = with_input(tool, &name, input.as_ref(), kinds);
        tool.arguments = input.as_ref().map(Into::into);
        let session = self.sessions.get_or_insert(&id);
        let key = session.start_call(&call, assistant_message_id.as_deref());
        // The conversion of the result needs the call.
        session.known_call_ids.insert(call, ());
        session.mark_called(&key, name, tool.kind.clone(), input);
        tool.native_message = assistant_message_id.map(Into::into);
        self.next_session(&id, out).tool_called(key, tool);
    }

    pub(super) fn next_tool_progress(
        &mut self,
        properties: Properties<native::EventSessionNextToolProgressProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextToolProgressProperties {
            session_id: Some(id),
            call_id: Some(call),
            content,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.tool.progress", out);
        };
        let session = self.sessions.get_or_insert(&id);
        let key = session.call_key(call);
        let (output, _) = result_content(content, false);
        let new_output = session.open_tools.entry(key.clone()).or_default().take_new_output(output);
        self.next_session(&id, out).tool_output(key, new_output);
    }

    pub(super) fn next_tool_success(
        &mut self,
        properties: Properties<native::EventSessionNextToolSuccessProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextToolSuccessProperties {
            session_id: Some(id),
            call_id: Some(call),
            content,
            structured,
            result,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.tool.success", out);
        };
        let session = self.sessions.get_or_insert(&id);
        let diff = session.permission_diffs.remove(&call);
        let key = session.complete_call(call);
        let tool = session.open_tools.remove(&key).unwrap_or_default();
        let metadata = ToolMetadata::parse(structured.as_ref());
        if let Some(child) = &metadata.session_id {
            out.session(child).spawned_by(id.as_str(), key.as_str());
        }
        let is_command = tool.kind == Some(ToolKind::Command);
        let (mut output, files) = result_content(content, is_command);
        if output.is_empty() && files.is_empty() {
            // The structured data of built-in tools is not meant for users.
            let structured = structured.filter(|_| built_in_kind(&tool.name).is_none());
            output = result.as_ref().map(result_text).or(structured.as_ref().map(result_text)).unwrap_or_default();
        }
        let session = self.sessions.get_or_insert(&id);
        let failed = metadata.is_cut_off || session.report_invalid_exit(&metadata, "session.next.tool.success", out);
        let output = clean_output(&tool.name, tool.kind.as_ref(), output, metadata.is_truncated);
        let mut result = ToolResult::ok(output).failed_if(failed).exit_code(metadata.exit);
        result.parts = file_refs(&tool.name, tool.input.as_ref(), metadata, diff);
        result.parts.extend(files);
        self.next_session(&id, out).tool_finished(key, result);
    }

    pub(super) fn next_tool_failed(
        &mut self,
        properties: Properties<native::EventSessionNextToolFailedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextToolFailedProperties {
            session_id: Some(id), call_id: Some(call), error, ..
        }) = properties
        else {
            return report_incomplete("session.next.tool.failed", out);
        };
        let session = self.sessions.get_or_insert(&id);
        let key = session.complete_call(call);
        let open = session.open_tools.remove(&key);
        let is_uncalled = open.as_ref().is_some_and(|open| !open.is_called);
        let message = error.and_then(|error| error.message).unwrap_or_default();
        let message = clean_error(open.and_then(|open| open.kind).as_ref(), &message);
        let result = ToolResult::failed(message).call_cut_off_if(is_uncalled && session.is_cut_off());
        self.next_session(&id, out).tool_finished(key, result);
    }
}

/// Text of a result without text content: its value if that is a text, else its JSON.
fn result_text(result: &Json) -> String {
    #[derive(Deserialize)]
    struct WithValue {
        value: Json,
    }
    let value = result.decode::<WithValue>().map_or_else(|_| result.clone(), |result| result.value);
    match value.to_value() {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(list) if list.is_empty() => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        _ => value.get().to_owned(),
    }
}

/// How the text with the exit code of a command begins.
const EXIT_CODE_PREFIX: &str = "Command exited with code ";

/// Text and files of a result. The exit code of a command is not part of its output.
fn result_content(content: Option<Vec<LlmToolContent>>, is_command: bool) -> (String, Vec<ContentPart>) {
    let mut output = String::new();
    let mut files = Vec::new();
    for part in content.into_iter().flatten() {
        match part {
            LlmToolContent::Text(text)
                if is_command && text.text.as_ref().is_some_and(|it| it.starts_with(EXIT_CODE_PREFIX)) => {}
            LlmToolContent::Text(text) => {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(&text.text.unwrap_or_default());
            }
            LlmToolContent::File(content) => files.push(file_content(content.mime, content.uri, content.name, None)),
            LlmToolContent::Unknown { .. } => {}
        }
    }
    (output, files)
}
