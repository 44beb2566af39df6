//! Tools of OpenCode as its adapter to another protocol reports them, with the kinds, inputs and results that they have on
//! OpenCode's own wire.

use interlingua_native::Json;
use interlingua_schema::{ToolInput, ToolKind};
use serde::Deserialize;

use super::changes::{ToolMetadata, file_refs};
use super::outputs::{clean_error, clean_output, task_failed};
use super::{inputs, kinds, patch};
use crate::ToolResult;

/// Tool that replaces an unavailable tool, or one whose arguments are not valid.
pub(crate) const INVALID: &str = super::tools::INVALID;

/// Kind of a built-in tool; `None` for all others.
pub(crate) fn tool_kind(name: &str) -> Option<ToolKind> {
    kinds::built_in_kind(name)
}

/// Input of a built-in tool; `None` if it lacks the fields of its kind.
pub(crate) fn tool_input(name: &str, arguments: &Json) -> Option<ToolInput> {
    inputs::built_in_input(name, arguments)
}

/// The name of the tool in a name that begins with that of its MCP server.
pub(crate) fn strip_server_name<'a>(name: &'a str, server: &str) -> Option<&'a str> {
    kinds::strip_server_name(name, server)
}

/// The changes of a patch between `*** Begin Patch` and `*** End Patch`.
pub(crate) fn parse_patch(text: &str) -> Vec<interlingua_schema::FileChange> {
    patch::parse_patch(text)
}

/// The output of a tool.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolOutput {
    output: Option<String>,
    error: Option<String>,
    metadata: Option<Json>,
}

/// The result of a call. `text` is its output if the structured output has none, `permitted_diff` the diff that its
/// permission request showed.
pub(crate) fn tool_result(
    name: &str,
    kind: &ToolKind,
    arguments: Option<&Json>,
    output: ToolOutput,
    text: Option<String>,
    permitted_diff: Option<String>,
    failed: bool,
) -> ToolResult {
    let metadata = ToolMetadata::parse(output.metadata.as_ref());
    let exit = metadata.exit;
    let mut result = if let Some(error) = output.error {
        ToolResult::failed(clean_error(Some(kind), &error))
    } else {
        let text = output.output.or(text).unwrap_or_default();
        let is_cut_off = metadata.is_cut_off || *kind == ToolKind::SubAgent && task_failed(&text);
        let text = clean_output(name, Some(kind), text, metadata.is_truncated);
        ToolResult::ok(text).failed_if(failed || name == INVALID || is_cut_off)
    };
    result.exit_code = exit;
    result.parts = if failed { Vec::new() } else { file_refs(name, arguments, metadata, permitted_diff) };
    result
}
