//! Codex: requests, answers and refusals fit its schema, and recordings can be rebuilt.

mod recordings;

use interlingua_native::new;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use interlingua_native::codex::{
    AskForApprovalText, ClientInfo, LocalImageUserInput, MentionUserInput, RequestId, SandboxMode, ServerRequest,
    ServerRequestEnvelope, TextUserInput,
};
use interlingua_native::{Native as _, Union as _};
use interlingua_protocol::codex::{
    ConfigOverrides, HostRequest, McpServer, PendingRequests, PlanMode, Received, Reply, RequestKind, ThreadOptions,
    clean_background_terminals, initialize, initialized, interrupt_turn, list_models, log_in, refuse_invalid,
    refuse_unsupported, start_turn, support, unsubscribe,
};
use interlingua_recordings::Transcripts;
use serde_json::{Value, json};

use crate::schema::{assert_fits, validator};

fn client() -> ClientInfo {
    ClientInfo { title: Some("Host".to_owned()), ..new!(ClientInfo { name: "host", version: "1.0.0" }) }
}

/// Options of a thread in all combinations that matter.
fn thread_options() -> Vec<ThreadOptions> {
    let secrets = || BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
    let local = McpServer::Local { command: "tiny".to_owned(), args: vec!["-v".to_owned()], env: secrets() };
    let remote = McpServer::Remote { url: "https://example.org".to_owned(), http_headers: secrets() };
    let config = ConfigOverrides {
        reasoning_effort: Some("high".to_owned()),
        mcp_servers: BTreeMap::from([("tiny".to_owned(), local), ("far".to_owned(), remote)]),
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

/// Requests of each kind.
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
fn every_request_fits_the_schema() {
    let schema = validator("codex", "/definitions/ClientRequest");
    for kind in RequestKind::ALL {
        for request in requests(*kind) {
            assert_eq!(request.kind(), *kind);
            let line = parse(&request.into_line(1));
            assert_eq!((&line["id"], &line["method"]), (&json!(1), &json!(kind.method())));
            assert_fits(&schema, &line);
        }
    }
}

#[test]
fn the_notification_and_refusals_fit_the_schema() {
    assert_fits(&validator("codex", "/definitions/ClientNotification"), &parse(&initialized()));
    let error = validator("codex", "/definitions/JSONRPCError");
    for id in [RequestId::Number(0), RequestId::Text("a".to_owned())] {
        assert_fits(&error, &parse(&refuse_unsupported(id.clone(), "item/tool/call")));
        assert_fits(&error, &parse(&refuse_invalid(id, "no")));
    }
}

/// What a request of the server's is answered with.
enum Answered {
    /// By the user, with this definition.
    User(&'static str),
    /// By the host at once, with this definition.
    Host(&'static str),
    /// Not at all.
    Refused,
}

fn answered(request: &ServerRequest) -> Answered {
    match request {
        ServerRequest::ItemCommandExecutionRequestApproval(_) => {
            Answered::User("CommandExecutionRequestApprovalResponse")
        }
        ServerRequest::ItemFileChangeRequestApproval(_) => Answered::User("FileChangeRequestApprovalResponse"),
        ServerRequest::ItemToolRequestUserInput(_) => Answered::User("ToolRequestUserInputResponse"),
        ServerRequest::McpServerElicitationRequest(_) => Answered::User("McpServerElicitationRequestResponse"),
        ServerRequest::ItemPermissionsRequestApproval(_) => Answered::User("PermissionsRequestApprovalResponse"),
        ServerRequest::ApplyPatchApproval(_) => Answered::User("ApplyPatchApprovalResponse"),
        ServerRequest::ExecCommandApproval(_) => Answered::User("ExecCommandApprovalResponse"),
        ServerRequest::CurrentTimeRead(_) => Answered::Host("CurrentTimeReadResponse"),
        ServerRequest::ItemToolCall(_)
        | ServerRequest::AccountChatgptAuthTokensRefresh(_)
        | ServerRequest::AttestationGenerate(_)
        | ServerRequest::Unknown { .. } => Answered::Refused,
    }
}

/// Parameters of each request of the server's that the schema declares.
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
fn every_reply_is_in_the_list() {
    let index = |reply: &Reply<'_>| match reply {
        Reply::Allow => 0,
        Reply::AllowForSession => 1,
        Reply::Reject(_) => 2,
        Reply::Answers(_) => 3,
    };
    assert_eq!(REPLIES.each_ref().map(index), [0, 1, 2, 3]);
}

#[test]
fn every_answer_fits_the_schema() {
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
        match (answered(&request), receive().1) {
            (Answered::User(definition), Received::Pending(key)) => {
                let result = validator("codex", &format!("/definitions/{definition}"));
                for reply in REPLIES.into_iter().chain([Reply::Answers(&chosen)]) {
                    let answer = parse(&receive().0.reply(&key, reply).unwrap());
                    assert_fits(&response, &answer);
                    assert_fits(&result, &answer["result"]);
                }
            }
            (Answered::Host(definition), Received::Answered(answer)) => {
                assert_fits(&validator("codex", &format!("/definitions/{definition}")), &parse(&answer)["result"]);
            }
            (Answered::Refused, Received::Answered(answer)) => assert_fits(&refusal, &parse(&answer)),
            (_, received) => panic!("{method}: {received:?}"),
        }
    }
}

#[test]
fn recordings_that_show_a_difference_between_versions_exist() {
    let names: BTreeSet<&str> = support::ALL.iter().map(|support| support.name).collect();
    assert_eq!(names.len(), support::ALL.len());
    for support in support::ALL {
        if support.evidence.starts_with("codex/") {
            Transcripts::in_repository().find(support.evidence).unwrap();
        }
    }
}
