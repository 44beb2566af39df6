//! Tools of Claude Code as an adapter to another protocol reports them, with the kinds, inputs and results that they have
//! on Claude Code's own wire.

use interlingua_native::Json;
use interlingua_native::claude::ToolResultBlockParam;
use interlingua_schema::{ToolInput, ToolKind};

use super::calls::OpenCall;
use super::{files, inputs, output, tools};
use crate::{QuestionDraft, ToolResult};

/// Kind of a tool; `None` if it is not one of Claude Code's.
pub(crate) fn tool_kind(name: &str) -> Option<ToolKind> {
    Some(tools::kind(name)).filter(|kind| *kind != ToolKind::Other)
}

/// The input of a call, and its title if it is not made from the input.
pub(crate) fn describe_call(name: &str, arguments: Option<&Json>) -> (Option<ToolInput>, Option<String>) {
    let parsed = inputs::parse(name, arguments);
    (parsed.input, parsed.title)
}

/// The questions of a call that asks the user.
pub(crate) fn questions(arguments: Option<&Json>, call_id: Option<&str>) -> Vec<QuestionDraft> {
    super::questions::parse_questions(arguments, call_id).1
}

/// The result of a call. `output` is the content of the tool result, as text or as blocks, and `record` the structured
/// result. Without a record of the files, the result has no files.
pub(crate) fn tool_result(
    name: &str,
    arguments: Option<&Json>,
    output: &Json,
    record: Option<&Json>,
    failed: bool,
) -> ToolResult {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"","is_error":{failed},"content":{}}}"#, output.get());
    let Ok(block) = serde_json::from_str::<ToolResultBlockParam>(&block) else {
        return ToolResult::ok(output.get()).failed_if(failed);
    };
    let call = OpenCall { name: name.to_owned(), kind: tools::kind(name), sub_agent: None, input: arguments.cloned() };
    let mut result = output::parse_result(block, Some(&call), record);
    if !record.is_some_and(files::has_file) {
        result.parts.retain(|part| !matches!(part, interlingua_schema::ContentPart::FileRef { .. }));
    }
    result
}
