//! Tools of the v2 API: their input streams, then they are called and succeed or fail.

use interlingua_native::Json;
use interlingua_native::opencode as native;
use interlingua_native::opencode::LlmToolContent;
use interlingua_schema::{CommandInput, ContentPart, ToolInput, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::changes::{Metadata, file_refs};
use super::kinds::{Kinds, built_in};
use super::next::Properties;
use super::outputs::{clean_error, clean_output};
use super::tools::with_input;
use super::users::file;
use super::{OpenCodeConverter, incomplete};
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
            return incomplete("session.next.shell.started", out);
        };
        self.sessions.of(&id).shell_taken();
        let arguments = json!({ "command": command }).to_string();
        let tool = ToolCall::new(call.as_str(), "shell")
            .kind(ToolKind::Command)
            .arguments(arguments)
            .input(command.map(|command| ToolInput::Command(CommandInput::new(command))))
            .native_id(call.as_str());
        self.next(&id, out).tool_called(call, tool);
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
            return incomplete("session.next.shell.ended", out);
        };
        let output = clean_output("shell", Some(&ToolKind::Command), output.unwrap_or_default(), false);
        self.next(&id, out).tool_finished(call, ToolResult::ok(output));
    }

    pub(super) fn next_input_started(
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
            return incomplete("session.next.tool.input.started", out);
        };
        let name = self.sessions.of(&id).tool_name(name, Some(&call));
        let mut tool = ToolCall::new(call.as_str(), name.as_str()).native_id(call.as_str());
        tool.kind = Kinds::new(&self.mcp).while_pending(&name);
        let session = self.sessions.of(&id);
        let key = session.new_call(&call, assistant_message_id.as_deref());
        session.known_calls.insert(call, ());
        session.tools.entry(key.clone()).or_default();
        tool.native_message = assistant_message_id.map(Into::into);
        self.next(&id, out).tool_started(key, tool);
    }

    pub(super) fn next_input_delta(
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
            return incomplete("session.next.tool.input.delta", out);
        };
        let key = self.sessions.of(&id).call_key(call);
        self.next(&id, out).tool_arguments(key, delta);
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
            return incomplete("session.next.tool.called", out);
        };
        let name = self.sessions.of(&id).tool_name(tool, Some(&call));
        let by_provider = provider.and_then(|provider| provider.executed) == Some(true);
        let kinds = Kinds { by_provider, ..Kinds::new(&self.mcp) };
        let tool = ToolCall::new(call.as_str(), name.as_str()).native_id(call.as_str());
        let mut tool = with_input(tool, &name, input.as_ref(), kinds);
        tool.arguments = input.as_ref().map(Into::into);
        let session = self.sessions.of(&id);
        let key = session.new_call(&call, assistant_message_id.as_deref());
        // What the result tells depends on what was asked.
        session.known_calls.insert(call, ());
        session.next_called(&key, name, tool.kind.clone(), input);
        tool.native_message = assistant_message_id.map(Into::into);
        self.next(&id, out).tool_called(key, tool);
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
            return incomplete("session.next.tool.progress", out);
        };
        let session = self.sessions.of(&id);
        let key = session.call_key(call);
        let (output, _) = result_content(content, false);
        let new = session.tools.entry(key.clone()).or_default().grown(output);
        self.next(&id, out).tool_output(key, new);
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
            return incomplete("session.next.tool.success", out);
        };
        let session = self.sessions.of(&id);
        let diff = session.diffs.remove(&call);
        let key = session.call_done(call);
        let tool = session.tools.remove(&key).unwrap_or_default();
        let metadata = Metadata::read(structured.as_ref());
        if let Some(child) = &metadata.session_id {
            out.session(child).spawned_by(id.as_str(), key.as_str());
        }
        let is_command = tool.kind == Some(ToolKind::Command);
        let (mut output, files) = result_content(content, is_command);
        if output.is_empty() && files.is_empty() {
            // What OpenCode's own tools tell in data is for programs.
            let structured = structured.filter(|_| built_in(&tool.name).is_none());
            output = result.as_ref().map(in_words).or(structured.as_ref().map(in_words)).unwrap_or_default();
        }
        let session = self.sessions.of(&id);
        let failed = metadata.cut_off || session.is_damaged_exit(&metadata, "session.next.tool.success", out);
        let output = clean_output(&tool.name, tool.kind.as_ref(), output, metadata.truncated);
        let mut result = ToolResult::ok(output).failed_if(failed).exit_code(metadata.exit);
        result.parts = file_refs(&tool.name, tool.input.as_ref(), metadata, diff);
        result.parts.extend(files);
        self.next(&id, out).tool_finished(key, result);
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
            return incomplete("session.next.tool.failed", out);
        };
        let session = self.sessions.of(&id);
        let key = session.call_done(call);
        let open = session.tools.remove(&key);
        let never_called = open.as_ref().is_some_and(|open| !open.called);
        let message = error.and_then(|error| error.message).unwrap_or_default();
        let message = clean_error(open.and_then(|open| open.kind).as_ref(), &message);
        let result = ToolResult::failed(message).call_cut_off_if(never_called && session.is_cut_off());
        self.next(&id, out).tool_finished(key, result);
    }
}

/// What a tool gave that did not say it in words: its text, or the data as it is.
fn in_words(given: &Json) -> String {
    #[derive(Deserialize)]
    struct Given {
        value: Json,
    }
    let given = given.decode::<Given>().map_or_else(|_| given.clone(), |given| given.value);
    match given.to_value() {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(list) if list.is_empty() => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        _ => given.get().to_owned(),
    }
}

/// How the text begins that tells the model of a command's exit code.
const EXITED: &str = "Command exited with code ";

/// What a tool says, and the files it gives. A command's exit code is told apart from what it printed.
fn result_content(content: Option<Vec<LlmToolContent>>, is_command: bool) -> (String, Vec<ContentPart>) {
    let mut output = String::new();
    let mut files = Vec::new();
    for part in content.into_iter().flatten() {
        match part {
            LlmToolContent::Text(text) if is_command && text.text.as_ref().is_some_and(|it| it.starts_with(EXITED)) => {
            }
            LlmToolContent::Text(text) => {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(&text.text.unwrap_or_default());
            }
            LlmToolContent::File(content) => files.push(file(content.mime, content.uri, content.name, None)),
            LlmToolContent::Unknown { .. } => {}
        }
    }
    (output, files)
}
