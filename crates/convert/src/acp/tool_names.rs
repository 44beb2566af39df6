//! Names of tools. The protocol has a field for the name, which few agents use: the others put it into `_meta`, into the id
//! of the call, or into its first title.

use interlingua_agents::AcpDialect;
use interlingua_native::Json;
use interlingua_native::acp::ToolKind as NativeKind;
use interlingua_schema::ToolKind;

use super::tools::ToolFields;
use crate::opencode;
use crate::opencode::adapter::strip_server_name;

/// Prefix of the tools that an adapter of Claude Code serves in place of the built-in ones.
const REPLACED_TOOL: &str = "mcp__acp__";
/// Prefix of the name of a tool of an MCP server.
const MCP_PREFIX: &str = "mcp__";
/// Prefix of the name of a tool of an MCP server in Gemini CLI.
const GEMINI_MCP_PREFIX: &str = "mcp_";

/// The tool of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct McpTool {
    pub(super) server: String,
    pub(super) tool: String,
}

/// The name of the tool that an update is about, if the update says it. `is_first`: the call was not mentioned before.
pub(super) fn tool_name(dialect: AcpDialect, fields: &mut ToolFields, is_first: bool) -> Option<String> {
    let in_meta = fields.meta.claude_code.tool_name.take().or_else(|| fields.meta.tool_name.take());
    let named = fields.name.take().or(in_meta).filter(|name| !name.is_empty());
    if let Some(name) = named {
        return Some(name.strip_prefix(REPLACED_TOOL).map(str::to_owned).unwrap_or(name));
    }
    match dialect {
        AcpDialect::Gemini | AcpDialect::Qwen | AcpDialect::Standard if is_first => {
            name_in_id(&fields.id).map(str::to_owned)
        }
        AcpDialect::OpenCode if is_first => opencode_name(fields),
        _ => None,
    }
}

/// Gemini CLI and agents made from it put the name before the id: `run_shell_command__call_1`,
/// `run_shell_command-1763590000000`.
fn name_in_id(id: &str) -> Option<&str> {
    let name = match id.split_once("__") {
        Some((name, rest)) if !rest.is_empty() => name,
        _ => {
            let (name, number) = id.split_once('-')?;
            let digits = number.split('-').next().unwrap_or_default();
            (digits.len() >= 10 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)?
        }
    };
    let is_known = kind_of_name(name).is_some() || name.starts_with(GEMINI_MCP_PREFIX) || name.contains('_');
    (is_known && is_identifier(name)).then_some(name)
}

/// The first title of a call is the name of the tool. When a session is loaded, the title describes the call, and the
/// kind and the arguments tell the tool.
fn opencode_name(fields: &ToolFields) -> Option<String> {
    let arguments = fields.raw_input.as_ref().map(Json::to_value).unwrap_or_default();
    let has = |key: &str| arguments.get(key).is_some();
    let is_described = arguments.as_object().is_some_and(|arguments| arguments.keys().any(|key| key != "cwd"));
    if let Some(title) = fields.title.as_deref().filter(|title| is_identifier(title)) {
        let is_name = !is_described || opencode::adapter::tool_kind(title).is_some() || title.contains('_');
        if is_name {
            return Some(title.to_owned());
        }
    }
    let name = match fields.kind.as_ref()? {
        _ if !is_described => return None,
        NativeKind::Execute => "bash",
        NativeKind::Read => "read",
        NativeKind::Edit if has("patchText") => "apply_patch",
        NativeKind::Edit if has("oldString") => "edit",
        NativeKind::Edit if has("content") => "write",
        NativeKind::Fetch if has("url") => "webfetch",
        NativeKind::Think if has("subagent_type") => "task",
        _ if has("todos") => "todowrite",
        _ if has("questions") => "question",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Whether a text may be the name of a tool.
fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The tool of an MCP server that a call is for. `servers` are those that the host passed on.
pub(super) fn mcp_tool(name: Option<&str>, title: Option<&str>, servers: &[String]) -> Option<McpTool> {
    let tool = |server: &str, tool: &str| McpTool { server: server.to_owned(), tool: tool.to_owned() };
    if let Some((server, name)) = name.and_then(|name| name.strip_prefix(MCP_PREFIX)?.split_once("__")) {
        return Some(tool(server, name));
    }
    // `add (tiny MCP Server)`, also with the arguments behind it.
    let titled = title.and_then(|title| {
        let (described, _) = title.split_once(" MCP Server)")?;
        let (name, server) = described.split_once(" (")?;
        is_identifier(name).then(|| tool(server, name))
    });
    if titled.is_some() {
        return titled;
    }
    let name = name.map(|name| name.strip_prefix(GEMINI_MCP_PREFIX).unwrap_or(name))?;
    let matching = servers.iter().filter_map(|server| {
        let rest = strip_server_name(name, server).or_else(|| name.strip_prefix(server.as_str())?.strip_prefix('-'))?;
        Some((server, rest))
    });
    let (server, rest) = matching.max_by_key(|(server, _)| server.len())?;
    Some(tool(server, rest))
}

/// The kind of a tool whose name several agents use.
pub(super) fn kind_of_name(name: &str) -> Option<ToolKind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "run_shell_command" | "exec_command" | "execute_command" | "run_command"
        | "run_terminal_cmd" | "terminal" => ToolKind::Command,
        "read" | "read_file" | "read_many_files" | "view" => ToolKind::FileRead,
        "write" | "edit" | "multiedit" | "write_file" | "edit_file" | "create_file" | "replace" | "apply_patch"
        | "str_replace" | "write_to_file" | "replace_in_file" => ToolKind::FileChange,
        "grep"
        | "glob"
        | "ls"
        | "list_directory"
        | "list_dir"
        | "list_files"
        | "grep_search"
        | "search_files"
        | "search_file_content"
        | "codebase_search"
        | "ripgrep" => ToolKind::Search,
        "web_fetch" | "webfetch" | "web_search" | "websearch" | "google_web_search" => ToolKind::Web,
        "task" | "agent" | "subagent" | "delegate_to_agent" => ToolKind::SubAgent,
        "todo_write" | "todowrite" | "write_todos" | "update_plan" | "exit_plan_mode" | "exitplanmode"
        | "enter_plan_mode" | "plan_exit" => ToolKind::Plan,
        "ask_user" | "ask_user_question" | "askuserquestion" | "ask_question" | "question" => ToolKind::Question,
        _ => return None,
    })
}

/// Whether the tool asks the user to approve a plan.
pub(super) fn approves_plan(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "exit_plan_mode" | "exitplanmode" | "plan_exit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gemini_puts_the_name_of_the_tool_into_the_id() {
        for (id, name) in [
            ("run_shell_command__call_run_0_1_62969", Some("run_shell_command")),
            ("mcp_tiny_add__call_mcp_0_0", Some("mcp_tiny_add")),
            ("read_file-1763590000000-3", Some("read_file")),
            ("glob-1763590000000", Some("glob")),
            ("toolu_01A", None),
            ("call_1", None),
            ("call-12", None),
            ("ses__x", None),
        ] {
            assert_eq!(name_in_id(id), name, "{id}");
        }
    }

    #[test]
    fn the_tool_of_a_server_is_known_by_its_name_or_title() {
        let servers = ["tiny".to_owned(), "tiny_two".to_owned()];
        let found = |name: Option<&str>, title: Option<&str>| {
            mcp_tool(name, title, &servers).map(|found| format!("{}: {}", found.server, found.tool))
        };
        assert_eq!(found(Some("mcp__lab__add_it"), None).as_deref(), Some("lab: add_it"));
        assert_eq!(found(Some("tiny_add"), None).as_deref(), Some("tiny: add"));
        assert_eq!(found(Some("tiny_two_add"), None).as_deref(), Some("tiny_two: add"));
        assert_eq!(found(Some("tiny-add"), None).as_deref(), Some("tiny: add"));
        assert_eq!(found(Some("mcp_tiny_add"), None).as_deref(), Some("tiny: add"));
        assert_eq!(found(None, Some("add (lab MCP Server): {}")).as_deref(), Some("lab: add"));
        assert_eq!(found(Some("list_directory"), Some("list")), None);
    }
}
