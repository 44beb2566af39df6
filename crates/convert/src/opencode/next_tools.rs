//! Tools of the v2 API: their input streams, then they are called and succeed or fail.

use interlingua_native::opencode as native;
use interlingua_native::opencode::LlmToolContent;
use interlingua_schema::{ContentPart, ToolKind};
use serde_json::json;

use super::changes::{Metadata, file_refs};
use super::next::Properties;
use super::tools::Kinds;
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
        let tool =
            ToolCall::new(call.as_str(), "shell").kind(ToolKind::Command).arguments(arguments).native(call.as_str());
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
        self.next(&id, out).tool_finished(call, ToolResult::ok(output.unwrap_or_default()));
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
        let name = name.unwrap_or_default();
        let mut tool = ToolCall::new(call.as_str(), name.as_str()).native(call.as_str());
        tool.kind = Some(Kinds { mcp_servers: self.mcp_servers.as_deref(), by_provider: false }.of(&name));
        tool.of = assistant_message_id.map(Into::into);
        self.next(&id, out).tool_started(call, tool);
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
        self.next(&id, out).tool_arguments(call, delta);
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
        let name = tool.unwrap_or_default();
        let mut tool = ToolCall::new(call.as_str(), name.as_str()).native(call.as_str());
        let by_provider = provider.and_then(|provider| provider.executed) == Some(true);
        tool.kind = Some(Kinds { mcp_servers: self.mcp_servers.as_deref(), by_provider }.of(&name));
        tool.of = assistant_message_id.map(Into::into);
        tool.arguments = input.as_ref().map(|input| input.get().to_owned());
        // What the result tells depends on what was asked.
        self.sessions.of(&id).next_called(&call, name, input);
        self.next(&id, out).tool_called(call, tool);
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
        let (output, _) = result_content(content);
        let new = self.sessions.of(&id).tools.entry(call.clone()).or_default().grown(output);
        self.next(&id, out).tool_output(call, new);
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
            ..
        }) = properties
        else {
            return incomplete("session.next.tool.success", out);
        };
        let session = self.sessions.of(&id);
        let tool = session.tools.remove(&call).unwrap_or_default();
        let diff = session.diffs.remove(&call);
        let metadata = Metadata::read(structured.as_ref());
        if let Some(child) = &metadata.session_id {
            out.session(child).spawned_by(id.as_str(), call.as_str());
        }
        let (output, files) = result_content(content);
        let mut result = ToolResult::ok(output).failed_if(metadata.cut_off).exit_code(metadata.exit);
        result.parts = file_refs(&tool.name, tool.input.as_ref(), metadata, diff);
        result.parts.extend(files);
        self.next(&id, out).tool_finished(call, result);
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
        self.sessions.of(&id).tools.remove(&call);
        let message = error.and_then(|error| error.message).unwrap_or_default();
        self.next(&id, out).tool_finished(call, ToolResult::failed(message));
    }
}

/// What a tool says, and the files it gives.
fn result_content(content: Option<Vec<LlmToolContent>>) -> (String, Vec<ContentPart>) {
    let mut output = String::new();
    let mut files = Vec::new();
    for part in content.into_iter().flatten() {
        match part {
            LlmToolContent::Text(text) => {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(&text.text.unwrap_or_default());
            }
            LlmToolContent::File(content) => files.push(file(content.mime, content.uri, content.name, None)),
            _ => {}
        }
    }
    (output, files)
}
