//! Amp: one process per turn, the prompt on its standard input.
//!
//! The host writes one message and closes the input. The agent never asks.

use std::collections::BTreeMap;

use interlingua_native::Native as _;
use interlingua_native::amp::{
    ImageSource, ImageSourceType, InputContent, InputContentType, StreamMessage, UserInputMessage,
    UserInputMessageMessage, UserInputMessageMessageRole, UserInputMessageType,
};
use interlingua_native::new;
use serde::Serialize;

/// A message of the user. A host sends nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The text. May be empty if there are images.
    pub text: String,
    /// The images, which come after the text.
    pub images: Vec<Image>,
}

/// An image that is sent with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The MIME type, such as `image/png`.
    pub media_type: String,
    /// The content.
    pub base64: String,
}

impl Prompt {
    /// The line for `--stream-json-input`, without the line break.
    #[must_use]
    pub fn into_line(self) -> String {
        to_text(&UserInputMessage::from(self))
    }
}

impl From<Prompt> for UserInputMessage {
    fn from(prompt: Prompt) -> Self {
        let text = Some(prompt.text)
            .filter(|text| !text.is_empty())
            .map(|text| InputContent { text: Some(text), ..new!(InputContent { type_: InputContentType::Text }) });
        let images = prompt.images.into_iter().map(|image| InputContent {
            source: Some(new!(ImageSource {
                data: image.base64,
                media_type: image.media_type,
                type_: ImageSourceType::Base64
            })),
            ..new!(InputContent { type_: InputContentType::Image })
        });
        let content = text.into_iter().chain(images).collect();
        let message = new!(UserInputMessageMessage { content: content, role: UserInputMessageMessageRole::User });
        new!(UserInputMessage { message: message, type_: UserInputMessageType::User })
    }
}

/// MCP servers by name: the value of `--mcp-config`, or the content of the file that it names. The vendor's schema does
/// not declare it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct McpServers(pub BTreeMap<String, McpServer>);

/// An MCP server. The vendor's schema does not declare it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum McpServer {
    /// A program that communicates over its standard input and output.
    Local {
        /// The program.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Environment variables, in addition to the agent's.
        env: BTreeMap<String, String>,
    },
    /// A server over HTTP.
    Remote {
        /// The server's URL.
        url: String,
        /// The transport; `None` for streamable HTTP.
        #[serde(skip_serializing_if = "Option::is_none")]
        transport: Option<McpTransport>,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// The transport of an MCP server over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    /// MCP's older SSE transport.
    Sse,
}

impl McpServers {
    /// Encodes the servers as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_text(self)
    }
}

/// The thread id in a line of the agent. `amp threads continue` takes it.
#[must_use]
pub fn read_thread_id(line: &str) -> Option<String> {
    let id = match StreamMessage::decode(line).ok()?.value {
        StreamMessage::System(message) => message.session_id,
        StreamMessage::Assistant(message) => message.session_id,
        StreamMessage::User(message) => message.session_id,
        StreamMessage::ResultSuccess(message) => message.session_id,
        StreamMessage::ResultError(message) => message.session_id,
        StreamMessage::Unknown { .. } => None,
    };
    id.filter(|id| !id.is_empty())
}

/// Encodes a value as JSON. This does not fail: all keys are strings.
fn to_text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn images_come_after_the_text() {
        let image = Image { media_type: "image/png".to_owned(), base64: "AQID".to_owned() };
        let content = |text: &str| {
            let line = Prompt { text: text.to_owned(), images: vec![image.clone()] }.into_line();
            let mut line: Value = serde_json::from_str(&line).unwrap();
            let content = line["message"]["content"].take();
            assert_eq!(line, json!({"type": "user", "message": {"role": "user", "content": null}}));
            content
        };
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
        assert_eq!(content("look"), json!([{"type": "text", "text": "look"}, image]));
        assert_eq!(content(""), json!([image]));
    }

    #[test]
    fn a_server_is_written_with_the_fields_of_its_kind() {
        let named = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let remote =
            |transport| McpServer::Remote { url: "http://x".to_owned(), transport, headers: named("Key", "k") };
        let local = McpServer::Local { command: "tool".to_owned(), args: vec!["a".to_owned()], env: named("A", "b") };
        let servers = [("far", remote(None)), ("near", local), ("old", remote(Some(McpTransport::Sse)))];
        let servers = McpServers(servers.map(|(name, server)| (name.to_owned(), server)).into());
        let expected = json!({
            "far": {"url": "http://x", "headers": {"Key": "k"}},
            "near": {"command": "tool", "args": ["a"], "env": {"A": "b"}},
            "old": {"url": "http://x", "transport": "sse", "headers": {"Key": "k"}},
        });
        assert_eq!(serde_json::from_str::<Value>(&servers.to_json()).unwrap(), expected);
    }

    #[test]
    fn the_thread_id_is_read_from_a_line() {
        let init = r#"{"type":"system","subtype":"init","session_id":"T-1","cwd":"/","tools":[],"mcp_servers":[]}"#;
        assert_eq!(read_thread_id(init).as_deref(), Some("T-1"));
        assert_eq!(read_thread_id(r#"{"type":"later","session_id":"T-1"}"#), None);
        assert_eq!(read_thread_id("not JSON"), None);
    }
}
