//! Results of tools that run on the model's server and come as blocks of the model's message.

use interlingua_native::claude::{
    AdvisorToolResultBlockContent, BashCodeExecutionToolResultBlockContent, CodeExecutionToolResultBlockContent,
    ContentBlock, DocumentBlockSource, McpToolResultBlockContent, TextEditorCodeExecutionToolResultBlockContent,
    ToolSearchToolResultBlockContent, WebFetchToolResultBlockContent, WebSearchToolResultBlockContent,
};
use serde_json::Number;

use crate::ToolResult;

/// Parses a result block. Returns the id of its call and the result; `None` for any other block.
pub(super) fn parse_result(block: ContentBlock) -> Option<(Option<String>, ToolResult)> {
    Some(match block {
        ContentBlock::WebSearchToolResult(block) => (block.tool_use_id, web_search(block.content)),
        ContentBlock::WebFetchToolResult(block) => (block.tool_use_id, web_fetch(block.content)),
        ContentBlock::AdvisorToolResult(block) => (block.tool_use_id, advisor(block.content)),
        ContentBlock::CodeExecutionToolResult(block) => (block.tool_use_id, code_execution(block.content)),
        ContentBlock::BashCodeExecutionToolResult(block) => (block.tool_use_id, bash_code_execution(block.content)),
        ContentBlock::TextEditorCodeExecutionToolResult(block) => (block.tool_use_id, text_editor(block.content)),
        ContentBlock::ToolSearchToolResult(block) => (block.tool_use_id, tool_search(block.content)),
        ContentBlock::McpToolResult(block) => {
            (block.tool_use_id, mcp(block.content).failed_if(block.is_error != Some(false)))
        }
        _ => return None,
    })
}

/// A result of unknown shape. Whether the tool succeeded is unknown, so it counts as failed.
fn unknown_shape() -> ToolResult {
    ToolResult::failed("")
}

fn error_result(code: Option<&str>, message: Option<String>) -> ToolResult {
    ToolResult::failed(message.or(code.map(str::to_owned)).unwrap_or_default())
}

fn web_search(content: Option<WebSearchToolResultBlockContent>) -> ToolResult {
    match content {
        Some(WebSearchToolResultBlockContent::List(pages)) => {
            let pages = pages.into_iter().map(|page| {
                let (title, url) = (page.title.unwrap_or_default(), page.url.unwrap_or_default());
                format!("{title}\n{url}")
            });
            ToolResult::ok(pages.collect::<Vec<_>>().join("\n\n"))
        }
        Some(WebSearchToolResultBlockContent::Object(error)) => error_result(
            error.error_code.as_ref().map(interlingua_native::claude::WebSearchToolResultErrorCode::as_str),
            None,
        ),
        Some(WebSearchToolResultBlockContent::Unknown(raw)) => ToolResult::failed(raw.get()),
        _ => unknown_shape(),
    }
}

fn web_fetch(content: Option<WebFetchToolResultBlockContent>) -> ToolResult {
    match content {
        Some(WebFetchToolResultBlockContent::WebFetchResult(page)) => {
            let text = match page.content.and_then(|document| document.source) {
                Some(DocumentBlockSource::Text(source)) => source.data,
                _ => None,
            };
            ToolResult::ok(text.or(page.url).unwrap_or_default())
        }
        Some(WebFetchToolResultBlockContent::WebFetchToolResultError(error)) => error_result(
            error.error_code.as_ref().map(interlingua_native::claude::WebFetchToolResultErrorCode::as_str),
            None,
        ),
        _ => unknown_shape(),
    }
}

fn advisor(content: Option<AdvisorToolResultBlockContent>) -> ToolResult {
    match content {
        Some(AdvisorToolResultBlockContent::AdvisorResult(result)) => ToolResult::ok(result.text.unwrap_or_default()),
        Some(AdvisorToolResultBlockContent::AdvisorToolResultError(error)) => error_result(
            error.error_code.as_ref().map(interlingua_native::claude::AdvisorToolResultErrorErrorCode::as_str),
            None,
        ),
        _ => unknown_shape(),
    }
}

fn code_execution(content: Option<CodeExecutionToolResultBlockContent>) -> ToolResult {
    match content {
        Some(CodeExecutionToolResultBlockContent::CodeExecutionResult(run)) => {
            command_result(run.stdout, run.stderr, run.return_code.as_ref())
        }
        Some(CodeExecutionToolResultBlockContent::EncryptedCodeExecutionResult(run)) => {
            command_result(None, run.stderr, run.return_code.as_ref())
        }
        Some(CodeExecutionToolResultBlockContent::CodeExecutionToolResultError(error)) => error_result(
            error.error_code.as_ref().map(interlingua_native::claude::CodeExecutionToolResultErrorCode::as_str),
            None,
        ),
        _ => unknown_shape(),
    }
}

fn bash_code_execution(content: Option<BashCodeExecutionToolResultBlockContent>) -> ToolResult {
    match content {
        Some(BashCodeExecutionToolResultBlockContent::BashCodeExecutionResult(run)) => {
            command_result(run.stdout, run.stderr, run.return_code.as_ref())
        }
        Some(BashCodeExecutionToolResultBlockContent::BashCodeExecutionToolResultError(error)) => error_result(
            error
                .error_code
                .as_ref()
                .map(interlingua_native::claude::BashCodeExecutionToolResultErrorErrorCode::as_str),
            None,
        ),
        _ => unknown_shape(),
    }
}

fn command_result(stdout: Option<String>, stderr: Option<String>, code: Option<&Number>) -> ToolResult {
    let stderr_bytes = stderr.as_ref().map(|text| text.len() as u64);
    let output: Vec<String> = [stdout, stderr].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let code = code.and_then(Number::as_i64).and_then(|code| i32::try_from(code).ok());
    ToolResult::ok(output.join("\n")).failed_if(code.is_none()).exit_code(code).stderr_bytes(stderr_bytes)
}

fn text_editor(content: Option<TextEditorCodeExecutionToolResultBlockContent>) -> ToolResult {
    match content {
        Some(TextEditorCodeExecutionToolResultBlockContent::TextEditorCodeExecutionViewResult(view)) => {
            ToolResult::ok(view.content.unwrap_or_default())
        }
        Some(TextEditorCodeExecutionToolResultBlockContent::TextEditorCodeExecutionStrReplaceResult(change)) => {
            ToolResult::ok(change.lines.unwrap_or_default().join("\n"))
        }
        Some(TextEditorCodeExecutionToolResultBlockContent::TextEditorCodeExecutionToolResultError(error)) => {
            error_result(
                error
                    .error_code
                    .as_ref()
                    .map(interlingua_native::claude::TextEditorCodeExecutionToolResultErrorErrorCode::as_str),
                error.error_message,
            )
        }
        // A created file has no output.
        Some(TextEditorCodeExecutionToolResultBlockContent::TextEditorCodeExecutionCreateResult(_)) => {
            ToolResult::ok("")
        }
        _ => unknown_shape(),
    }
}

fn tool_search(content: Option<ToolSearchToolResultBlockContent>) -> ToolResult {
    match content {
        Some(ToolSearchToolResultBlockContent::ToolSearchToolSearchResult(found)) => {
            let names = found.tool_references.unwrap_or_default().into_iter().filter_map(|tool| tool.tool_name);
            ToolResult::ok(names.collect::<Vec<_>>().join("\n"))
        }
        Some(ToolSearchToolResultBlockContent::ToolSearchToolResultError(error)) => error_result(
            error.error_code.as_ref().map(interlingua_native::claude::ToolSearchToolResultErrorErrorCode::as_str),
            error.error_message,
        ),
        _ => unknown_shape(),
    }
}

fn mcp(content: Option<McpToolResultBlockContent>) -> ToolResult {
    match content {
        Some(McpToolResultBlockContent::Text(text)) => ToolResult::ok(text),
        Some(McpToolResultBlockContent::List(blocks)) => {
            let texts = blocks.into_iter().filter_map(|block| block.text);
            ToolResult::ok(texts.collect::<Vec<_>>().join("\n"))
        }
        Some(McpToolResultBlockContent::Unknown(raw)) => ToolResult::failed(raw.get()),
        _ => unknown_shape(),
    }
}
