//! The tools that an agent offers to the model.

use serde_json::Value;

/// A tool that an agent offers to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfferedTool {
    /// Name of the tool.
    pub(crate) name: String,
    /// Its namespace, if the API has namespaces.
    pub(crate) namespace: Option<String>,
    /// Whether it takes plain text instead of JSON.
    pub(crate) takes_text: bool,
    /// Names of its parameters.
    pub(crate) parameters: Vec<String>,
}

impl OfferedTool {
    /// Parses a list of tools of any of the three APIs.
    pub(crate) fn parse_list(tools: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        for tool in tools.as_array().into_iter().flatten() {
            if tool["type"] == "namespace" {
                let namespace = tool["name"].as_str().map(str::to_owned);
                found.extend(
                    Self::parse_list(&tool["tools"])
                        .into_iter()
                        .map(|inner| Self { namespace: namespace.clone(), ..inner }),
                );
            } else if let Some(tool) = Self::parse(tool) {
                found.push(tool);
            }
        }
        found
    }

    fn parse(tool: &Value) -> Option<Self> {
        // Chat Completions wraps the tool in its type.
        let inner = if tool["function"].is_object() { &tool["function"] } else { tool };
        let schema = if inner["input_schema"].is_object() { &inner["input_schema"] } else { &inner["parameters"] };
        let parameters = schema["properties"].as_object().into_iter().flatten();
        // A tool that the model's vendor runs has a type but no name.
        let name = inner["name"].as_str().or_else(|| tool["type"].as_str())?;
        Some(Self {
            name: name.to_owned(),
            namespace: None,
            takes_text: tool["type"] == "custom",
            parameters: parameters.map(|(name, _)| name.clone()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tools_of_all_three_apis_are_parsed() {
        let anthropic = json!([{"name": "Bash", "input_schema": {"properties": {"command": {}}}}]);
        assert_eq!(OfferedTool::parse_list(&anthropic)[0].parameters, ["command"]);
        let chat =
            json!([{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}]);
        assert_eq!(OfferedTool::parse_list(&chat)[0].name, "bash");
        let responses = json!([
            {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}},
            {"type": "custom", "name": "apply_patch"},
            {"type": "web_search"},
            {"type": "namespace", "name": "mcp__tiny", "tools": [{"type": "function", "name": "add"}]},
        ]);
        let tools = OfferedTool::parse_list(&responses);
        assert_eq!(tools.len(), 4);
        assert!(tools[1].takes_text);
        assert_eq!(tools[2].name, "web_search");
        assert_eq!(tools[3].namespace.as_deref(), Some("mcp__tiny"));
    }
}
