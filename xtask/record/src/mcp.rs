//! A small MCP server for agents to call: `tiny`, with the tools `add` and `fail`.

use std::io::{BufRead as _, Write as _};

use anyhow::Result;
use serde_json::{Value, json};

/// First argument with which a program of this crate runs as the MCP server.
pub const SUBCOMMAND: &str = "mcp-server";

/// Serves on standard input and output until the input ends.
///
/// # Errors
/// When reading or writing fails.
pub fn serve() -> Result<()> {
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        if let Some(answer) = answer(&message) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(())
}

/// The answer to a message; `None` for a notification.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tiny", "version": "1.0.0"},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [
            tool("add", "Adds two numbers", &json!({"a": {"type": "number"}, "b": {"type": "number"}})),
            tool("fail", "Always fails", &json!({})),
        ]}),
        "tools/call" => call(&message["params"]),
        other => {
            let error = json!({"code": -32601, "message": format!("no method {other}")});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn tool(name: &str, description: &str, properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flatten().map(|(name, _)| name).collect();
    json!({
        "name": name, "description": description, "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "required": required, "properties": properties},
    })
}

fn call(params: &Value) -> Value {
    let (text, is_error) = match params["name"].as_str() {
        Some("add") => {
            let number = |name: &str| params["arguments"][name].as_f64().unwrap_or_default();
            ((number("a") + number("b")).to_string(), false)
        }
        Some("fail") => ("It failed, as it always does.".to_owned(), true),
        other => (format!("no tool {other:?}"), true),
    };
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_returns_the_sum_and_fail_returns_an_error() {
        let call = |name: &str| {
            let params = json!({"name": name, "arguments": {"a": 2, "b": 40}});
            answer(&json!({"id": 1, "method": "tools/call", "params": params})).unwrap()
        };
        assert_eq!(call("add")["result"]["content"][0]["text"], "42");
        assert_eq!(call("fail")["result"]["isError"], true);
        assert_eq!(answer(&json!({"method": "notifications/initialized"})), None);
        assert_eq!(answer(&json!({"id": 2, "method": "nix"})).unwrap()["error"]["code"], -32601);
    }
}
