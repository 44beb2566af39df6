//! What is sent to Codex: requests, answers and refusals are valid, and recordings can be rebuilt.

mod recordings;

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use interlingua_native::codex::{
    AskForApprovalText, ClientInfo, LocalImageUserInput, MentionUserInput, RequestId, SandboxMode, ServerRequest,
    ServerRequestEnvelope, TextUserInput,
};
use interlingua_native::new;
use interlingua_native::{Native as _, Union as _};
use interlingua_protocol::codex::{
    ConfigOverrides, HostRequest, McpServer, McpTransport, PendingRequests, PlanMode, Received, Reply, RequestKind,
    ThreadOptions, clean_background_terminals, initialize, initialized, interrupt_turn, list_models, log_in,
    refuse_invalid, refuse_unsupported, start_turn, support, unsubscribe,
};
use interlingua_recordings::Transcripts;
use serde_json::{Value, json};

use crate::schema::{assert_valid, validator};

fn client() -> ClientInfo {
    ClientInfo { title: Some("Host".to_owned()), ..new!(ClientInfo { name: "host", version: "1.0.0" }) }
}

/// Thread options in all combinations that matter.
fn thread_options() -> Vec<ThreadOptions> {
    let secrets = || BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
    let local = McpTransport::Local { command: "tiny".to_owned(), args: vec!["-v".to_owned()], env: secrets() };
    let remote = McpTransport::Remote { url: "https://example.org".to_owned(), http_headers: secrets() };
    let config = ConfigOverrides {
        reasoning_effort: Some("high".to_owned()),
        mcp_servers: BTreeMap::from([
            ("tiny".to_owned(), McpServer::new(local)),
            ("far".to_owned(), McpServer::new(remote)),
        ]),
    };
    let policies = [AskForApprovalText::Untrusted, AskForApprovalText::OnRequest, AskForApprovalText::Never];
    let sandboxes = [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];
    let mut all = vec![ThreadOptions::default()];
    for (policy, sandbox) in policies.into_iter().zip(sandboxes) {
        let options = ThreadOptions {
            cwd: Some("/work".to_owned()),
            approval_policy: Some(policy),
            sandbox: Some(sandbox),
            model: Some("gpt-5.5".to_owned()),
            config: config.clone(),
        };
        all.extend([options.clone().redacted(), options]);
    }
    all
}

/// Requests of a kind.
fn requests(kind: RequestKind) -> Vec<HostRequest> {
    match kind {
        RequestKind::Initialize => vec![initialize(client(), &[]).into(), initialize(client(), &["warning"]).into()],
        RequestKind::LogIn => vec![log_in("sk-1").into()],
        RequestKind::ListModels => vec![list_models(None).into(), list_models(Some("c".to_owned())).into()],
        RequestKind::StartThread => thread_options().into_iter().map(|options| options.open(None)).collect(),
        RequestKind::ResumeThread => thread_options().into_iter().map(|options| options.open(Some("t"))).collect(),
        RequestKind::StartTurn => {
            let input = || {
                let (image, file) = (
                    new!(LocalImageUserInput { path: "/a.png" }),
                    new!(MentionUserInput { name: "b", path: "/b.txt" }),
                );
                vec![new!(TextUserInput { text: "hi" }).into(), image.into(), file.into()]
            };
            let plan = |reasoning_effort: Option<&str>| {
                Some(PlanMode { model: "m".to_owned(), reasoning_effort: reasoning_effort.map(str::to_owned) })
            };
            let plans = [None, plan(None), plan(Some("high"))];
            plans.into_iter().map(|plan| start_turn("t", input(), plan, None).into()).collect()
        }
        RequestKind::InterruptTurn => vec![interrupt_turn("t", "u").into()],
        RequestKind::CleanBackgroundTerminals => vec![clean_background_terminals("t").into()],
        RequestKind::Unsubscribe => vec![unsubscribe("t").into()],
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn every_request_is_valid() {
    let schema = validator("codex", "/definitions/ClientRequest");
    for kind in RequestKind::ALL {
        for request in requests(*kind) {
            assert_eq!(request.kind(), *kind);
            let line = parse(&request.into_line(1));
            assert_eq!((&line["id"], &line["method"]), (&json!(1), &json!(kind.method())));
            assert_valid(&schema, &line);
        }
    }
}

#[test]
fn the_notification_and_refusals_are_valid() {
    assert_valid(&validator("codex", "/definitions/ClientNotification"), &parse(&initialized()));
    let error = validator("codex", "/definitions/JSONRPCError");
    for id in [RequestId::Number(0), RequestId::Text("a".to_owned())] {
        assert_valid(&error, &parse(&refuse_unsupported(id.clone(), "item/tool/call")));
        assert_valid(&error, &parse(&refuse_invalid(id, "no")));
    }
}

/// How a request of the server is answered.
enum ExpectedAnswer {
    /// By the user, with a result of this definition.
    User(&'static str),
    /// By the host at once, with a result of this definition.
    Host(&'static str),
    /// The request is refused.
    Refused,
}

fn expected_answer(request: &ServerRequest) -> ExpectedAnswer {
    match request {
        ServerRequest::ItemCommandExecutionRequestApproval(_) => {
            ExpectedAnswer::User("CommandExecutionRequestApprovalResponse")
        }
        ServerRequest::ItemFileChangeRequestApproval(_) => ExpectedAnswer::User("FileChangeRequestApprovalResponse"),
        ServerRequest::ItemToolRequestUserInput(_) => ExpectedAnswer::User("ToolRequestUserInputResponse"),
        ServerRequest::McpServerElicitationRequest(_) => ExpectedAnswer::User("McpServerElicitationRequestResponse"),
        ServerRequest::ItemPermissionsRequestApproval(_) => ExpectedAnswer::User("PermissionsRequestApprovalResponse"),
        ServerRequest::ApplyPatchApproval(_) => ExpectedAnswer::User("ApplyPatchApprovalResponse"),
        ServerRequest::ExecCommandApproval(_) => ExpectedAnswer::User("ExecCommandApprovalResponse"),
        ServerRequest::CurrentTimeRead(_) => ExpectedAnswer::Host("CurrentTimeReadResponse"),
        ServerRequest::ItemToolCall(_)
        | ServerRequest::AccountChatgptAuthTokensRefresh(_)
        | ServerRequest::AttestationGenerate(_)
        | ServerRequest::Unknown { .. } => ExpectedAnswer::Refused,
    }
}

/// Parameters of a request of the server.
fn params(method: &str) -> Vec<Value> {
    let elicitation = |mode: &str, more: Value| {
        let mut params = json!({"serverName": "s", "threadId": "t", "mode": mode, "message": "Which?"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    match method {
        "item/permissions/requestApproval" => {
            let files = json!({"read": ["/a"], "write": ["/b"]});
            let permissions = [json!({}), json!({"network": {"enabled": true}, "fileSystem": files})];
            permissions.map(|permissions| json!({"itemId": "i", "permissions": permissions})).to_vec()
        }
        "item/tool/requestUserInput" => {
            vec![json!({"itemId": "i", "questions": [{"id": "q", "question": "Which?"}]})]
        }
        "mcpServer/elicitation/request" => {
            let schema = json!({"type": "object", "properties": {"colour": {"type": "string"}}});
            let approval = json!({"codex_approval_kind": "mcp_tool_call"});
            vec![
                elicitation("form", json!({ "requestedSchema": schema })),
                elicitation(
                    "form",
                    json!({"requestedSchema": {"type": "object", "properties": {}}, "_meta": approval}),
                ),
                elicitation("openai/form", json!({ "requestedSchema": schema })),
                elicitation("openaiForm", json!({ "requestedSchema": schema })),
                elicitation("openai/userVerification", json!({"challenge": "c", "title": "t", "description": "d"})),
                elicitation("url", json!({"url": "https://example.org", "elicitationId": "e"})),
                elicitation("later", json!({})),
            ]
        }
        _ => vec![json!({"itemId": "i", "threadId": "t", "conversationId": "t"})],
    }
}

const REPLIES: [Reply<'_>; 4] = [Reply::Allow, Reply::AllowForSession, Reply::Reject("too risky"), Reply::Answers(&[])];

#[test]
fn the_list_has_every_reply() {
    let index = |reply: &Reply<'_>| match reply {
        Reply::Allow => 0,
        Reply::AllowForSession => 1,
        Reply::Reject(_) => 2,
        Reply::Answers(_) => 3,
    };
    assert_eq!(REPLIES.each_ref().map(index), [0, 1, 2, 3]);
}

#[test]
fn every_answer_is_valid() {
    let chosen = [vec!["red".to_owned()], vec!["a".to_owned(), "b".to_owned()]];
    let response = validator("codex", "/definitions/JSONRPCResponse");
    let refusal = validator("codex", "/definitions/JSONRPCError");
    let methods = ServerRequest::TAGS.iter().map(|(method, _)| *method).chain(["some/new/request"]);
    for (method, params) in methods.flat_map(|method| params(method).into_iter().map(move |params| (method, params))) {
        let line = json!({"method": method, "id": "a", "params": params}).to_string();
        let request = ServerRequestEnvelope::decode(&line).unwrap().value.message;
        let receive = || {
            let mut pending = PendingRequests::new(None);
            let received = pending.receive(&line, SystemTime::now()).unwrap();
            (pending, received)
        };
        match (expected_answer(&request), receive().1) {
            (ExpectedAnswer::User(definition), Received::Pending(key)) => {
                let result = validator("codex", &format!("/definitions/{definition}"));
                for reply in REPLIES.into_iter().chain([Reply::Answers(&chosen)]) {
                    let answer = parse(&receive().0.reply(&key, reply).unwrap());
                    assert_valid(&response, &answer);
                    assert_valid(&result, &answer["result"]);
                }
            }
            (ExpectedAnswer::Host(definition), Received::Answered(answer)) => {
                assert_valid(&validator("codex", &format!("/definitions/{definition}")), &parse(&answer)["result"]);
            }
            (ExpectedAnswer::Refused, Received::Answered(answer)) => assert_valid(&refusal, &parse(&answer)),
            (_, received) => panic!("{method}: {received:?}"),
        }
    }
}

#[test]
fn every_recording_that_is_evidence_exists() {
    let names: BTreeSet<&str> = support::ALL.iter().map(|support| support.name).collect();
    assert_eq!(names.len(), support::ALL.len());
    for support in support::ALL {
        if support.evidence.starts_with("codex/") {
            Transcripts::in_repository().find(support.evidence).unwrap();
        }
    }
}
