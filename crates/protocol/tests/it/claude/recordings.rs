//! What was sent in the recordings is what is sent now.

use std::fs;

use interlingua_native::Native as _;
use interlingua_native::claude::{
    ContentBlockParam, ControlRequestInner, ControlResult, DocumentBlockParamSource, ImageBlockParamSource,
    MessageContentParam, MessageParam, PermissionResult, StdinMessage, UserMessage,
};
use interlingua_protocol::claude::{
    Attachment, ControlRequestBuilder, HostMessage, McpServers, PendingRequests, PermissionMode, Permissions, Prompt,
    Reply, SessionOptions, WIRE_FLAGS, command_line, initialize, interrupt,
};
use interlingua_recordings::{Provenance, Transcripts};
use serde_json::{Value, json};

use super::parse;
use crate::schema::{assert_valid, validator};

/// A recording: its header, then the lines that crossed the wire.
struct Recording {
    name: String,
    provenance: Provenance,
    lines: Vec<Value>,
}

impl Recording {
    /// The arguments, without the program.
    fn arguments(&self) -> Vec<&str> {
        self.lines[0]["argv"].as_array().into_iter().flatten().skip(1).filter_map(Value::as_str).collect()
    }

    /// The direction (`send` or `recv`) and the text of every line.
    fn wire(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| Some((line["dir"].as_str()?, line["line"].as_str()?)))
    }
}

fn recordings() -> Vec<Recording> {
    let files = Transcripts::in_repository().for_agent("claude").unwrap();
    let read = |file: interlingua_recordings::RecordingFile| Recording {
        name: format!("{}/{}", file.version, file.scenario),
        provenance: file.provenance,
        lines: fs::read_to_string(file.path).unwrap().lines().map(parse).collect(),
    };
    let all: Vec<Recording> = files.into_iter().map(read).collect();
    assert!(all.len() > 100, "{}", all.len());
    all
}

#[test]
fn every_sent_line_decodes() {
    for recording in recordings() {
        for (direction, line) in recording.wire() {
            // These lines are invalid on purpose, to record the refusal.
            if direction != "send" || line == "this is not json" || line.contains("no_such_subtype") {
                continue;
            }
            let decoded = StdinMessage::decode(line).unwrap();
            assert!(!matches!(decoded.value, StdinMessage::Unknown { .. }), "{}: {line}", recording.name);
            if let StdinMessage::ControlRequest(request) = &decoded.value {
                let is_known = !matches!(request.request, None | Some(ControlRequestInner::Unknown { .. }));
                assert!(is_known, "{}: {line}", recording.name);
            }
        }
    }
}

/// Rebuilds a line of the recorder from its meaning.
fn rebuild(line: &str, request_builder: &mut ControlRequestBuilder, pending: &mut PendingRequests) -> String {
    match StdinMessage::decode(line).unwrap().value {
        StdinMessage::User(message) => HostMessage::Prompt(prompt(*message)).into_line(),
        StdinMessage::ControlRequest(request) => match request.request.unwrap() {
            ControlRequestInner::Initialize(_) => request_builder.build(initialize()).into_line(),
            ControlRequestInner::Interrupt(_) => request_builder.build(interrupt()).into_line(),
            other => panic!("{other:?}"),
        },
        StdinMessage::ControlResponse(response) => {
            let Some(ControlResult::Success(success)) = response.response else { panic!("{line}") };
            let response = success.response.unwrap();
            let id = success.request_id.unwrap();
            match PermissionResult::decode(response.get()).unwrap().value {
                PermissionResult::Allow(allow) => {
                    let input = allow.updated_input.unwrap().to_value();
                    let questions = input["questions"].as_array().into_iter().flatten();
                    let texts = questions.filter_map(|question| question["question"].as_str());
                    let answers: Vec<Vec<String>> = texts
                        .filter_map(|text| input["answers"][text].as_str())
                        .map(|answer| vec![answer.to_owned()])
                        .collect();
                    let reply = match (answers.as_slice(), allow.updated_permissions) {
                        ([], None) => Reply::Allow,
                        ([], Some(_)) => Reply::AllowSuggested,
                        (answers, _) => Reply::Answers(answers),
                    };
                    pending.reply(&id, reply).unwrap()
                }
                PermissionResult::Deny(deny) => match deny.message.unwrap().as_str() {
                    "The user does not want to answer." => pending.reply(&id, Reply::Dismiss).unwrap(),
                    reason => pending.reply(&id, Reply::Deny(reason)).unwrap(),
                },
                PermissionResult::Unknown { .. } => panic!("{line}"),
            }
        }
        other => panic!("{other:?}"),
    }
}

fn prompt(message: UserMessage) -> Prompt {
    let Some(MessageParam::User(message)) = message.message else { panic!("{message:?}") };
    let blocks = match message.content.unwrap() {
        MessageContentParam::Text(text) => return Prompt::new(text),
        MessageContentParam::List(blocks) => blocks,
        MessageContentParam::Unknown(json) => panic!("{json:?}"),
    };
    let mut attachments = blocks.into_iter().map(|block| match block {
        ContentBlockParam::Text(block) => Attachment::Text(block.text.unwrap()),
        ContentBlockParam::Image(block) => {
            let Some(ImageBlockParamSource::Base64(source)) = block.source else { panic!("{block:?}") };
            let media_type = source.media_type.unwrap().to_string();
            Attachment::Image { media_type, base64: source.data.unwrap() }
        }
        ContentBlockParam::Document(block) => match block.source.unwrap() {
            DocumentBlockParamSource::Base64(source) => Attachment::Pdf { base64: source.data.unwrap() },
            DocumentBlockParamSource::Text(source) => {
                Attachment::PlainText { title: block.title.unwrap(), text: source.data.unwrap() }
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    let Some(Attachment::Text(text)) = attachments.next() else { panic!("expected a prompt with text") };
    Prompt { text, attachments: attachments.collect() }
}

#[test]
fn messages_of_the_recorder_are_rebuilt() {
    let mut rebuilt = 0;
    for recording in recordings().iter().filter(|recording| recording.provenance == Provenance::Recorded) {
        let (mut request_builder, mut pending) = (ControlRequestBuilder::default(), PendingRequests::default());
        for (direction, line) in recording.wire() {
            if direction == "recv" {
                pending.receive(line);
                continue;
            }
            let mut sent = parse(line);
            if sent["type"] == "user" {
                // The schema requires the field; recordings up to 2.1.325 were made without it.
                sent["parent_tool_use_id"] = Value::Null;
            }
            let again = rebuild(line, &mut request_builder, &mut pending);
            assert_eq!(parse(&again), sent, "{}", recording.name);
            rebuilt += 1;
        }
    }
    assert!(rebuilt > 100, "{rebuilt}");
}

/// The options of a command line of the recorder.
fn options<'a>(args: &[&'a str]) -> SessionOptions<'a> {
    let mut options = SessionOptions::default();
    let mut args = args.iter().copied();
    while let Some(flag) = args.next() {
        match flag {
            "--permission-mode" => {
                options.permissions = Permissions::Mode(PermissionMode::from(args.next().unwrap()));
            }
            "--dangerously-skip-permissions" => options.permissions = Permissions::Bypass,
            "--tools" => options.tools = args.next(),
            "--resume" => options.resume = args.next(),
            "--mcp-config" => {
                let config = parse(args.next().unwrap());
                let servers = config["mcpServers"].as_object().unwrap().iter();
                let server = |server: &Value| serde_json::from_value(server.clone()).unwrap();
                let mcp_servers = servers.map(|(name, value)| (name.clone(), server(value))).collect();
                options.mcp_servers = McpServers { mcp_servers };
            }
            "--strict-mcp-config" => options.strict_mcp_config = true,
            other => panic!("{other}"),
        }
    }
    options
}

#[test]
fn command_lines_of_the_recorder_are_rebuilt() {
    let server = validator("claude", "/definitions/McpServerConfigForProcessTransport");
    for recording in recordings().iter().filter(|recording| recording.provenance == Provenance::Recorded) {
        let args = recording.arguments();
        assert_eq!(args[..WIRE_FLAGS.len()], WIRE_FLAGS, "{}", recording.name);
        let options = options(&args[WIRE_FLAGS.len()..]);
        assert_eq!(command_line(&options, None), args, "{}", recording.name);
        for config in options.mcp_servers.mcp_servers.values() {
            assert_valid(&server, &json!(config));
        }
    }
}
