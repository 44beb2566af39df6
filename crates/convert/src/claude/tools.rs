//! Kinds of Claude Code's tools.

use interlingua_schema::ToolKind;

/// The kind of a tool, by its name.
pub(super) fn kind(name: &str) -> ToolKind {
    match name {
        "Bash"
        | "BashOutput"
        | "KillBash"
        | "KillShell"
        | "PowerShell"
        | "REPL"
        | "TaskOutput"
        | "TaskStop"
        | "AgentOutputTool"
        | "bash_code_execution"
        | "code_execution" => ToolKind::Command,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" | "text_editor_code_execution" => ToolKind::FileChange,
        "NotebookRead" | "Read" => ToolKind::FileRead,
        "Glob" | "Grep" | "LS" | "LSP" | "ToolSearch" | "tool_search_tool_bm25" | "tool_search_tool_regex" => {
            ToolKind::Search
        }
        "ListMcpResourcesTool" | "ReadMcpResourceTool" => ToolKind::Mcp,
        "WebFetch" | "WebSearch" | "web_fetch" | "web_search" => ToolKind::Web,
        "Agent" | "Task" | "advisor" => ToolKind::SubAgent,
        "EnterPlanMode" | "ExitPlanMode" | "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" | "TodoWrite" => {
            ToolKind::Plan
        }
        "AskUserQuestion" => ToolKind::Question,
        name if name.starts_with("mcp__") => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}
