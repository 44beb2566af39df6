//! What is sent to Claude Code.

mod recordings;

use std::collections::{BTreeMap, BTreeSet};

use interlingua_native::Native as _;
use interlingua_native::claude::{AllowPermissionResult, DenyPermissionResult, PermissionResult, StdinMessage};
use interlingua_native::new;
use interlingua_protocol::claude::{
    Attachment, ControlAnswer, ControlRequestBuilder, DialogResult, ElicitationResult, HostMessage, HostRequest,
    McpServerConfigForProcessTransport, McpServerConfigForProcessTransportType, PendingRequests, PermissionMode,
    Prompt, Received, Reply, SUPPORT, initialize, interrupt,
};
use interlingua_recordings::Transcripts;
use serde_json::{Value, json};

use crate::schema::{assert_valid, validator};

/// The kinds of a message. A new kind of message does not compile until it is named here, and the test fails until
/// [`messages`] contains one.
fn kinds(message: &HostMessage) -> Vec<&'static str> {
    match message {
        HostMessage::Prompt(prompt) => {
            let attachment = |attachment: &Attachment| match attachment {
                Attachment::Text(_) => "prompt with text",
                Attachment::Image { .. } => "prompt with image",
                Attachment::Pdf { .. } => "prompt with PDF",
                Attachment::PlainText { .. } => "prompt with plain text",
            };
            std::iter::once("prompt").chain(prompt.attachments.iter().map(attachment)).collect()
        }
        HostMessage::Request { request: HostRequest::Initialize(_), .. } => vec!["initialize"],
        HostMessage::Request { request: HostRequest::Interrupt(_), .. } => vec!["interrupt"],
        HostMessage::Answer { answer, .. } => vec![match answer {
            ControlAnswer::Permission(PermissionResult::Allow(_)) => "allow",
            ControlAnswer::Permission(PermissionResult::Deny(_)) => "deny",
            ControlAnswer::Permission(PermissionResult::Unknown { .. }) => {
                panic!("the protocol layer never builds this answer")
            }
            ControlAnswer::Elicitation(ElicitationResult::Accept { .. }) => "accept",
            ControlAnswer::Elicitation(ElicitationResult::Decline) => "decline",
            ControlAnswer::Dialog(DialogResult::Completed { .. }) => "completed",
            ControlAnswer::Dialog(DialogResult::Cancelled) => "cancelled",
            ControlAnswer::Error(_) => "error",
        }],
    }
}

const KINDS: [&str; 14] = [
    "accept",
    "allow",
    "cancelled",
    "completed",
    "decline",
    "deny",
    "error",
    "initialize",
    "interrupt",
    "prompt",
    "prompt with PDF",
    "prompt with image",
    "prompt with plain text",
    "prompt with text",
];

/// Messages of every kind.
fn messages() -> Vec<HostMessage> {
    let base64 = || "AQID".to_owned();
    let attachments = [
        Attachment::Text("Attached file: /notes.txt".to_owned()),
        Attachment::Image { media_type: "image/png".to_owned(), base64: base64() },
        Attachment::Pdf { base64: base64() },
        Attachment::PlainText { title: "notes.txt".to_owned(), text: "alpha\n".to_owned() },
    ];
    let images = ["image/jpeg", "image/png", "image/gif", "image/webp"]
        .map(|media_type| Attachment::Image { media_type: media_type.to_owned(), base64: base64() });
    let prompt =
        |text: &str, attachments: &[Attachment]| Prompt { text: text.to_owned(), attachments: attachments.to_vec() };
    let prompts = [prompt("hi", &[]), prompt("look", &attachments), prompt("", &attachments[1..]), prompt("", &images)];
    let requests = [initialize().into(), interrupt().into()];
    let answers = [
        ControlAnswer::Permission(AllowPermissionResult::new().into()),
        ControlAnswer::Permission(new!(DenyPermissionResult { message: "no" }).into()),
        ControlAnswer::Elicitation(ElicitationResult::Accept { content: json!({"age": 7}) }),
        ControlAnswer::Elicitation(ElicitationResult::Decline),
        ControlAnswer::Dialog(DialogResult::Completed { result: "yes".to_owned() }),
        ControlAnswer::Dialog(DialogResult::Cancelled),
        ControlAnswer::Error("cannot".to_owned()),
    ];
    let id = || "r".to_owned();
    let prompts = prompts.into_iter().map(HostMessage::Prompt);
    let requests = requests.into_iter().map(|request| HostMessage::Request { id: id(), request });
    let answers = answers.into_iter().map(|answer| HostMessage::Answer { id: id(), answer });
    prompts.chain(requests).chain(answers).collect()
}

/// Parses a line.
fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn every_message_is_valid() {
    let stdin = validator("claude", "/definitions/StdinMessage");
    let mut found = BTreeSet::new();
    for message in messages() {
        found.extend(kinds(&message));
        let line = message.clone().into_line();
        assert_valid(&stdin, &parse(&line));
        assert_eq!(StdinMessage::decode(&line).unwrap().value, StdinMessage::from(message));
    }
    assert_eq!(found, BTreeSet::from(KINDS));
}

#[test]
fn numbered_requests_are_valid() {
    let stdin = validator("claude", "/definitions/StdinMessage");
    let mut request_builder = ControlRequestBuilder::default();
    assert_valid(&stdin, &parse(request_builder.build(initialize()).line()));
    assert_valid(&stdin, &parse(request_builder.build(interrupt()).line()));
}

/// Requests of every kind that the agent makes, with and without optional fields.
fn agent_requests() -> Vec<Value> {
    let rules = |destination: &str| {
        json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow",
               "destination": destination})
    };
    let directories = json!({"type": "addDirectories", "directories": ["/workspace"], "destination": "session"});
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    let tool = |name: &str, input: Value, suggestions: Value| {
        json!({"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": "t",
               "permission_suggestions": suggestions})
    };
    let bare = |name: &str, input: Value| json!({"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": "t"});
    let question = json!({"question": "Which?", "header": "H", "multiSelect": true, "options": [{"label": "One"}]});
    let form = |schema: Value| {
        json!({"subtype": "elicitation", "mcp_server_name": "ask", "message": "How old?", "mode": "form",
               "requested_schema": schema})
    };
    vec![
        tool("Bash", json!({"command": "ls"}), json!([rules("localSettings"), directories, mode])),
        tool("Edit", json!({"file_path": "/a", "old_string": "a", "new_string": "b"}), json!([mode])),
        tool("Bash", json!({}), json!([])),
        bare("Bash", json!({"command": "ls"})),
        bare("AskUserQuestion", json!({"questions": [question]})),
        bare("AskUserQuestion", json!({})),
        bare("ExitPlanMode", json!({"plan": "# Plan"})),
        form(json!({"type": "object", "properties": {"age": {"type": "integer"}}})),
        form(json!({"type": "object", "properties": {}})),
        json!({"subtype": "elicitation", "mcp_server_name": "ask", "message": "Log in", "mode": "url", "url": "http://x"}),
        json!({"subtype": "request_user_dialog", "dialog_kind": "x", "payload": {}}),
        // These are refused at once.
        json!({"subtype": "mcp_message", "server_name": "x", "message": {}}),
        json!({"subtype": "hook_callback", "callback_id": "c", "input": {}}),
        json!({"subtype": "of_a_later_release"}),
    ]
}

/// Every reply of a user. A new one does not compile until it is named here.
fn replies(answers: &[Vec<String>]) -> Vec<Reply<'_>> {
    let all = vec![
        Reply::Allow,
        Reply::AllowAlways,
        Reply::AllowSuggested,
        Reply::Deny("because"),
        Reply::Answers(answers),
        Reply::Answers(&[]),
        Reply::Dismiss,
    ];
    for reply in &all {
        match reply {
            Reply::Allow
            | Reply::AllowAlways
            | Reply::AllowSuggested
            | Reply::Deny(_)
            | Reply::Answers(_)
            | Reply::Dismiss => {}
        }
    }
    all
}

#[test]
fn every_answer_to_every_request_is_valid() {
    let stdin = validator("claude", "/definitions/StdinMessage");
    let permission = validator("claude", "/definitions/PermissionResult");
    let mut answered = 0;
    for request in agent_requests() {
        let line = json!({"type": "control_request", "request_id": "r", "request": request}).to_string();
        for words in ["approve", "reject", "use tabs", "7"] {
            for mode in [None, Some(PermissionMode::AcceptEdits)] {
                for reply in replies(&[vec![words.to_owned(), "more".to_owned()], vec![]]) {
                    let mut pending = PendingRequests::new(mode.clone());
                    let answer = match pending.receive(&line) {
                        Received::Pending(id) => pending.reply(&id, reply).unwrap(),
                        Received::Refused(line) => line,
                        other => panic!("{request}: {other:?}"),
                    };
                    let answer = parse(&answer);
                    assert_valid(&stdin, &answer);
                    if request["subtype"] == "can_use_tool" {
                        assert_valid(&permission, &answer["response"]["response"]);
                    }
                    answered += 1;
                }
            }
        }
    }
    assert!(answered > 500, "{answered}");
}

#[test]
fn mcp_servers_are_valid() {
    let server = validator("claude", "/definitions/McpServerConfigForProcessTransport");
    let texts = |texts: &[(&str, &str)]| -> BTreeMap<String, String> {
        texts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let local = |env| McpServerConfigForProcessTransport {
        command: Some("tool".to_owned()),
        args: Some(vec!["a".to_owned()]),
        env,
        ..McpServerConfigForProcessTransport::new()
    };
    let remote = |type_| McpServerConfigForProcessTransport {
        type_: Some(type_),
        url: Some("http://x".to_owned()),
        headers: Some(texts(&[("Authorization", "${SECRET}")])),
        ..McpServerConfigForProcessTransport::new()
    };
    let configs = [
        local(None),
        local(Some(BTreeMap::new())),
        local(Some(texts(&[("KEY", "${SECRET}")]))),
        remote(McpServerConfigForProcessTransportType::Http),
        remote(McpServerConfigForProcessTransportType::Sse),
    ];
    for config in configs {
        assert_valid(&server, &serde_json::to_value(&config).unwrap());
    }
}

#[test]
fn every_version_range_has_evidence() {
    let transcripts = Transcripts::in_repository();
    for support in SUPPORT {
        let evidence = support.evidence;
        let is_recording = transcripts.find(evidence).is_ok();
        let is_observed = evidence.starts_with("not among the options of ") || evidence.contains(" refuses the ");
        assert!(is_recording || is_observed, "{}: {evidence:?}", support.name);
    }
}
