//! The tools that an agent offers the model.

use serde_json::Value;

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offered {
    /// Its name.
    pub(crate) name: String,
    /// The namespace that it is in, where the language has such.
    pub(crate) namespace: Option<String>,
    /// Whether it takes plain text instead of JSON.
    pub(crate) takes_text: bool,
    /// The names of its parameters.
    pub(crate) parameters: Vec<String>,
}

impl Offered {
    /// Reads a list of tools, of any of the three languages.
    pub(crate) fn list(tools: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        for tool in tools.as_array().into_iter().flatten() {
            if tool["type"] == "namespace" {
                let namespace = tool["name"].as_str().map(str::to_owned);
                found.extend(
                    Self::list(&tool["tools"]).into_iter().map(|inner| Self { namespace: namespace.clone(), ..inner }),
                );
            } else if let Some(one) = Self::one(tool) {
                found.push(one);
            }
        }
        found
    }

    fn one(tool: &Value) -> Option<Self> {
        // Chat Completions wraps the tool in its type.
        let inner = if tool["function"].is_object() { &tool["function"] } else { tool };
        let schema = if inner["input_schema"].is_object() { &inner["input_schema"] } else { &inner["parameters"] };
        let parameters = schema["properties"].as_object().into_iter().flatten();
        // Tools that the model's own vendor runs have a type and no name.
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
    fn the_tools_of_all_three_languages_are_read() {
        let anthropic = json!([{"name": "Bash", "input_schema": {"properties": {"command": {}}}}]);
        assert_eq!(Offered::list(&anthropic)[0].parameters, ["command"]);
        let chat =
            json!([{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}]);
        assert_eq!(Offered::list(&chat)[0].name, "bash");
        let responses = json!([
            {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}},
            {"type": "custom", "name": "apply_patch"},
            {"type": "web_search"},
            {"type": "namespace", "name": "mcp__tiny", "tools": [{"type": "function", "name": "add"}]},
        ]);
        let tools = Offered::list(&responses);
        assert_eq!(tools.len(), 4);
        assert!(tools[1].takes_text);
        assert_eq!(tools[2].name, "web_search");
        assert_eq!(tools[3].namespace.as_deref(), Some("mcp__tiny"));
    }
}
