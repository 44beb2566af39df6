//! What sort of tool it is, by its name and by what is known of the MCP servers.

use interlingua_native::Json;
use interlingua_schema::{ToolInput, ToolKind};

use super::inputs::mcp_input;

/// The MCP servers that were spoken of.
#[derive(Debug, Default)]
pub(super) struct McpServers {
    names: Vec<String>,
    /// The host has asked for all of them.
    is_complete: bool,
}

impl McpServers {
    /// These are all servers.
    pub(super) fn list(&mut self, names: impl Iterator<Item = String>) {
        self.names = names.collect();
        self.is_complete = true;
    }

    /// There is such a server.
    pub(super) fn add(&mut self, name: String) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// The server and the tool that a name is made of: `server_tool`. The longest name of a server that fits counts.
    fn split<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let fits = |server: &'a String| Some((server.as_str(), tool_of_server(name, server)?));
        let known = self.names.iter().filter_map(fits).max_by_key(|(server, _)| server.len());
        match known {
            Some(known) => Some(known),
            None if self.is_complete => None,
            // A server's name may have an underscore too, which nothing tells.
            None => name.split_once('_').filter(|(server, tool)| !server.is_empty() && !tool.is_empty()),
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.names.iter().any(|server| tool_of_server(name, server).is_some())
    }
}

fn tool_of_server<'a>(name: &'a str, server: &str) -> Option<&'a str> {
    // Other characters than these become `_` in the names of tools.
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let server: String = server.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    name.strip_prefix(server.as_str())?.strip_prefix('_')
}

/// What is known of a tool beside its name.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    pub(super) servers: &'a McpServers,
    /// The model's provider runs it.
    pub(super) by_provider: bool,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(servers: &'a McpServers) -> Self {
        Self { servers, by_provider: false }
    }

    /// What sort of tool it is. OpenCode names those of an MCP server `server_tool`, and so may others be named; where
    /// the servers are not known, a tool with such a name that exists counts as theirs.
    pub(super) fn of(self, tool: &str) -> ToolKind {
        if let Some(kind) = built_in(tool) {
            return kind;
        }
        if self.by_provider {
            return if tool.starts_with("web") { ToolKind::Web } else { ToolKind::Other };
        }
        if self.servers.split(tool).is_some() { ToolKind::Mcp } else { ToolKind::Other }
    }

    /// As [`of`](Self::of), while it is not certain that there is such a tool: nothing is guessed then.
    pub(super) fn while_pending(self, tool: &str) -> Option<ToolKind> {
        let is_certain = built_in(tool).is_some() || self.by_provider || self.servers.is_known(tool);
        is_certain.then(|| self.of(tool))
    }

    /// The input of a tool of an MCP server.
    pub(super) fn mcp_input(self, tool: &str, input: Option<&Json>) -> Option<ToolInput> {
        let (server, tool) = self.servers.split(tool)?;
        Some(mcp_input(server, tool, input))
    }
}

/// What sort the tools are that OpenCode brings along; `None` for those it does not.
pub(super) fn built_in(tool: &str) -> Option<ToolKind> {
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
    fn a_tool_of_a_server_is_known_by_the_servers_name() {
        let mut servers = McpServers::default();
        assert_eq!(Kinds::new(&servers).of("lab_add"), ToolKind::Mcp);
        assert_eq!(servers.split("lab_add"), Some(("lab", "add")));
        assert_eq!(Kinds::new(&servers).while_pending("lab_add"), None);
        servers.add("my lab".to_owned());
        servers.add("my lab_two".to_owned());
        assert_eq!(servers.split("my_lab_add"), Some(("my lab", "add")));
        assert_eq!(servers.split("my_lab_two_add"), Some(("my lab_two", "add")));
        assert_eq!(Kinds::new(&servers).while_pending("my_lab_add"), Some(ToolKind::Mcp));
        servers.list(["lab".to_owned()].into_iter());
        assert_eq!(Kinds::new(&servers).of("lab_add"), ToolKind::Mcp);
        assert_eq!(Kinds::new(&servers).of("custom_tool"), ToolKind::Other);
    }
}
