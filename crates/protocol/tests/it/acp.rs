//! What is sent to an ACP agent: requests and answers are valid according to the schema of the protocol.

use interlingua_native::acp::{
    AgentRequest, AgentRequestEnvelope, ContentBlock, Implementation, PromptRequest, RequestId, TextContentBlock,
    WriteTextFileRequest, WriteTextFileResponse,
};
use interlingua_native::{Native as _, new};
use interlingua_protocol::acp::{
    Choice, METHOD_NOT_FOUND, ModeChange, PendingRequests, Received, Reply, SessionOptions, cancel, http_server,
    initialize, refuse, request_line, respond, stdio_server,
};
use interlingua_recordings::Transcripts;
use serde_json::{Value, json};

use crate::schema::{assert_valid, validator};

fn options() -> SessionOptions {
    let secret = [("KEY", "s3cret")];
    let local = stdio_server("near", "tool", &["--key=s4cret".to_owned()], secret.into_iter());
    let remote = http_server("far", "https://example.org/?k=s5cret", false, secret.into_iter());
    SessionOptions { cwd: "/w".to_owned(), mcp_servers: vec![local, remote] }
}

#[test]
fn requests_of_the_host_are_valid() {
    let host = || new!(Implementation { name: "host", version: "1.0.0" });
    let prompt: Vec<ContentBlock> = vec![new!(TextContentBlock { text: "hello" }).into()];
    let option = ModeChange::Option { option: "effort".to_owned(), value: "low".to_owned() };
    let requests = validator("acp", "/$defs/ClientRequest");
    for line in [
        request_line(1, initialize(host(), true)),
        request_line(1, initialize(host(), false)),
        request_line(2, options().create()),
        request_line(3, options().load("s")),
        request_line(4, options().resume("s")),
        request_line(5, new!(PromptRequest { prompt: prompt, session_id: "s" })),
        ModeChange::Mode("plan".to_owned()).into_line(6, "s"),
        option.into_line(7, "s"),
    ] {
        assert_valid(&requests, &serde_json::from_str(&line).unwrap());
    }
    let notifications = validator("acp", "/$defs/ClientNotification");
    assert_valid(&notifications, &serde_json::from_str(&cancel("s")).unwrap());
}

#[test]
fn secrets_of_mcp_servers_are_not_reported() {
    let reported = options().without_secrets();
    let line = request_line(1, reported.create());
    assert!(!line.contains("cret"), "{line}");
    assert!(request_line(1, options().create()).contains("s3cret"));
}

#[test]
fn answers_to_the_requests_of_the_recordings_are_valid() {
    let outcomes = validator("acp", "/$defs/RequestPermissionResponse");
    let errors = validator("acp", "/$defs/JsonRpcError");
    let mut answered = 0;
    for file in Transcripts::in_repository().all().unwrap().into_iter().filter(|file| file.agent == "acp") {
        for record in std::fs::read_to_string(&file.path).unwrap().lines() {
            let record: Value = serde_json::from_str(record).unwrap();
            let line = record["line"].as_str().filter(|_| record["dir"] == "recv").unwrap_or_default();
            let Ok(envelope) = AgentRequestEnvelope::decode(line) else { continue };
            let Some(id) = envelope.value.id else { continue };
            if matches!(envelope.value.message, AgentRequest::ElicitationCreate(_)) {
                continue;
            }
            let mut pending = PendingRequests::default();
            if pending.receive(id.clone(), envelope.value.message) != Received::Pending {
                assert_valid(&errors, &serde_json::from_str(&refuse(id, METHOD_NOT_FOUND, "no")).unwrap());
                continue;
            }
            let answer = pending.reply(&id.to_string(), &Reply::Permission(Choice::Once)).unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_valid(&outcomes, &answer["result"]);
            assert_eq!(answer["result"]["outcome"]["outcome"], "selected", "{line}");
            answered += 1;
        }
    }
    assert!(answered > 20, "only {answered} permission requests; are recordings missing?");
}

#[test]
fn an_empty_answer_is_an_object() {
    let line = respond::<WriteTextFileRequest>(RequestId::Number(7), &WriteTextFileResponse::new());
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line, json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
}
