//! Kind of a tool, by its name and the known MCP servers.

use interlingua_native::Json;
use interlingua_schema::{ToolInput, ToolKind};

use super::inputs::mcp_input;

/// Names of the known MCP servers.
#[derive(Debug, Default)]
pub(super) struct McpServers {
    names: Vec<String>,
    /// The host has listed all servers.
    is_complete: bool,
}

impl McpServers {
    /// Sets the complete list of servers.
    pub(super) fn set_all(&mut self, names: impl Iterator<Item = String>) {
        self.names = names.collect();
        self.is_complete = true;
    }

    /// Adds one server.
    pub(super) fn add(&mut self, name: String) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Splits a tool name `server_tool` into server and tool. The longest matching server name wins.
    fn split_tool_name<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let matching = |server: &'a String| Some((server.as_str(), strip_server_name(name, server)?));
        let known = self.names.iter().filter_map(matching).max_by_key(|(server, _)| server.len());
        match known {
            Some(known) => Some(known),
            None if self.is_complete => None,
            // The name of an unknown server may contain underscores too. The first one is taken as the separator.
            None => name.split_once('_').filter(|(server, tool)| !server.is_empty() && !tool.is_empty()),
        }
    }

    fn is_known_tool(&self, name: &str) -> bool {
        self.names.iter().any(|server| strip_server_name(name, server).is_some())
    }
}

pub(super) fn strip_server_name<'a>(name: &'a str, server: &str) -> Option<&'a str> {
    // OpenCode replaces all other characters by `_` in tool names.
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let server: String = server.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    name.strip_prefix(server.as_str())?.strip_prefix('_')
}

/// Determines the kind of a tool.
#[derive(Clone, Copy)]
pub(super) struct ToolKinds<'a> {
    pub(super) servers: &'a McpServers,
    /// The model's provider executes the tool.
    pub(super) is_provider_executed: bool,
}

impl<'a> ToolKinds<'a> {
    pub(super) fn new(servers: &'a McpServers) -> Self {
        Self { servers, is_provider_executed: false }
    }

    /// Kind of an existing tool. OpenCode names the tools of an MCP server `server_tool`, but other tools may have such
    /// names too. If the servers are not listed, an underscore in the name means MCP.
    pub(super) fn kind(self, tool: &str) -> ToolKind {
        if let Some(kind) = built_in_kind(tool) {
            return kind;
        }
        if self.is_provider_executed {
            return if tool.starts_with("web") { ToolKind::Web } else { ToolKind::Other };
        }
        if self.servers.split_tool_name(tool).is_some() { ToolKind::Mcp } else { ToolKind::Other }
    }

    /// Kind of a tool that may not exist; `None` if it is not certain.
    pub(super) fn pending_kind(self, tool: &str) -> Option<ToolKind> {
        let is_certain = built_in_kind(tool).is_some() || self.is_provider_executed || self.servers.is_known_tool(tool);
        is_certain.then(|| self.kind(tool))
    }

    /// Input of an MCP tool.
    pub(super) fn mcp_input(self, tool: &str, input: Option<&Json>) -> Option<ToolInput> {
        let (server, tool) = self.servers.split_tool_name(tool)?;
        Some(mcp_input(server, tool, input))
    }
}

/// Kind of a built-in tool; `None` for all others.
pub(super) fn built_in_kind(tool: &str) -> Option<ToolKind> {
    Some(match tool {
        "bash" | "shell" => ToolKind::Command,
        "edit" | "write" | "multiedit" | "patch" | "apply_patch" => ToolKind::FileChange,
        "read" => ToolKind::FileRead,
        "glob" | "grep" | "list" | "ls" | "lsp" | "codesearch" => ToolKind::Search,
        "webfetch" | "websearch" => ToolKind::Web,
        "task" | "subagent" => ToolKind::SubAgent,
        "todowrite" | "todoread" | "plan_enter" | "plan_exit" => ToolKind::Plan,
        "question" => ToolKind::Question,
        "batch" | "skill" | "StructuredOutput" | "invalid" => ToolKind::Other,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mcp_tool_is_recognised_by_the_name_of_its_server() {
        let mut servers = McpServers::default();
        assert_eq!(ToolKinds::new(&servers).kind("lab_add"), ToolKind::Mcp);
        assert_eq!(servers.split_tool_name("lab_add"), Some(("lab", "add")));
        assert_eq!(ToolKinds::new(&servers).pending_kind("lab_add"), None);
        servers.add("my lab".to_owned());
        servers.add("my lab_two".to_owned());
        assert_eq!(servers.split_tool_name("my_lab_add"), Some(("my lab", "add")));
        assert_eq!(servers.split_tool_name("my_lab_two_add"), Some(("my lab_two", "add")));
        assert_eq!(ToolKinds::new(&servers).pending_kind("my_lab_add"), Some(ToolKind::Mcp));
        servers.set_all(["lab".to_owned()].into_iter());
        assert_eq!(ToolKinds::new(&servers).kind("lab_add"), ToolKind::Mcp);
        assert_eq!(ToolKinds::new(&servers).kind("custom_tool"), ToolKind::Other);
    }
}
