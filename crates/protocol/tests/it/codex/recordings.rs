//! What hosts sent in the recordings.

use std::collections::HashMap;
use std::time::SystemTime;

use interlingua_native::codex::{
    AskForApproval, ClientInfo, ClientNotification, ClientRequest, ClientRequestEnvelope, CollaborationMode,
    InitializeParams, RequestId, ServerRequest, ServerRequestEnvelope, ThreadStartParams, ToolRequestUserInputParams,
    ToolRequestUserInputResponse, TurnStartParams,
};
use interlingua_native::new;
use interlingua_native::{Native, Request};
use interlingua_protocol::codex::{
    HostRequest, PendingRequests, PlanMode, Reply, ServerMessage, ThreadOptions, initialize, initialized,
    interrupt_turn, start_turn,
};
use interlingua_recordings::{Provenance, RecordingFile, Transcripts};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{REPLIES, parse};

/// A line of a recording.
#[derive(Deserialize)]
struct Entry {
    dir: Option<String>,
    line: Option<String>,
}

/// A line that the host sent, and the request of the server that it may answer.
struct Sent {
    line: String,
    request: Option<String>,
}

fn sent(recording: &RecordingFile) -> Vec<Sent> {
    let text = std::fs::read_to_string(&recording.path).unwrap();
    let mut requests = HashMap::new();
    let mut sent = Vec::new();
    for entry in text.lines() {
        let Ok(Entry { dir: Some(dir), line: Some(line) }) = serde_json::from_str(entry) else { continue };
        if dir == "send" {
            let id = serde_json::from_str::<Value>(&line).ok().map(|line| line["id"].to_string());
            sent.push(Sent { request: id.and_then(|id| requests.get(&id).cloned()), line });
        } else if let Some(ServerMessage::Request(_)) = ServerMessage::decode(&line) {
            requests.insert(parse(&line)["id"].to_string(), line);
        }
    }
    sent
}

fn recordings() -> Vec<RecordingFile> {
    let recordings = Transcripts::in_repository().for_agent("codex").unwrap();
    assert!(recordings.len() > 200, "{}", recordings.len());
    recordings
}

/// The JSON without null members: Codex does not distinguish null and absent.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

fn written(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Decodes the result of an answer by the type of its request, and encodes it again.
fn recode(request: &ServerRequest, result: &str) -> Value {
    fn recode_response<R: Request>(_: &R, result: &str) -> Value {
        written(&R::Response::decode(result).unwrap().value)
    }
    match request {
        ServerRequest::ItemCommandExecutionRequestApproval(params) => recode_response(&**params, result),
        ServerRequest::ItemFileChangeRequestApproval(params) => recode_response(params, result),
        ServerRequest::ItemToolRequestUserInput(params) => recode_response(params, result),
        ServerRequest::McpServerElicitationRequest(params) => recode_response(params, result),
        ServerRequest::ItemPermissionsRequestApproval(params) => recode_response(params, result),
        ServerRequest::ApplyPatchApproval(params) => recode_response(params, result),
        ServerRequest::ExecCommandApproval(params) => recode_response(params, result),
        ServerRequest::CurrentTimeRead(params) => recode_response(params, result),
        ServerRequest::ItemToolCall(params) => recode_response(params, result),
        ServerRequest::AccountChatgptAuthTokensRefresh(_)
        | ServerRequest::AttestationGenerate(_)
        | ServerRequest::Unknown { .. } => panic!("no host answers {request:?}"),
    }
}

#[test]
fn sent_lines_decode_into_the_generated_types() {
    // Recordings with requests that are invalid on purpose are left out.
    for recording in recordings().into_iter().filter(|recording| recording.scenario != "rpc_errors") {
        let name = recording.path.display();
        for Sent { line, request } in sent(&recording) {
            let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(&line) else {
                assert_eq!(recording.provenance, Provenance::Captured, "{name}: {line}");
                continue;
            };
            let again = if value.get("method").is_none() {
                let request = request.expect("the answer has no request");
                let request = ServerRequestEnvelope::decode(&request).unwrap().value.message;
                let Some(result) = value.get("result") else { continue };
                let again = recode(&request, &result.to_string());
                assert_eq!(without_nulls(again), without_nulls(result.clone()), "{name}");
                continue;
            } else if value.get("id").is_some() {
                let request = ClientRequestEnvelope::decode(&line).unwrap().value;
                // Captured recordings have requests that our hosts do not make.
                let is_known = !matches!(request.message, ClientRequest::Unknown { .. });
                assert!(is_known || recording.provenance == Provenance::Captured, "{name}: {line}");
                written(&request)
            } else {
                written(&ClientNotification::decode(&line).unwrap().value)
            };
            assert_eq!(without_nulls(again), without_nulls(value), "{name}");
        }
    }
}

fn rebuild_initialize(params: InitializeParams) -> HostRequest {
    let client = params.client_info.unwrap();
    let muted = params.capabilities.unwrap().opt_out_notification_methods.unwrap_or_default();
    let muted: Vec<&str> = muted.iter().map(String::as_str).collect();
    let ClientInfo { name, title, version } = client;
    initialize(ClientInfo { title, ..new!(ClientInfo { name: name.unwrap(), version: version.unwrap() }) }, &muted)
        .into()
}

fn rebuild_thread(params: ThreadStartParams) -> HostRequest {
    let approval_policy = params.approval_policy.map(|policy| match policy {
        AskForApproval::Text(policy) => policy,
        other => panic!("{other:?}"),
    });
    let ThreadStartParams { cwd, sandbox, model, .. } = params;
    ThreadOptions { cwd, approval_policy, sandbox, model, ..ThreadOptions::default() }.open(None)
}

fn rebuild_turn(params: TurnStartParams) -> HostRequest {
    let plan = params.collaboration_mode.map(|CollaborationMode { settings, .. }| {
        let settings = settings.unwrap();
        PlanMode { model: settings.model.unwrap(), reasoning_effort: settings.reasoning_effort }
    });
    start_turn(&params.thread_id.unwrap(), params.input.unwrap(), plan, None).into()
}

fn rebuild(request: ClientRequest) -> HostRequest {
    match request {
        ClientRequest::Initialize(params) => rebuild_initialize(params),
        ClientRequest::ThreadStart(params) => rebuild_thread(*params),
        ClientRequest::ThreadResume(params) => ThreadOptions::default().open(params.thread_id.as_deref()),
        ClientRequest::TurnStart(params) => rebuild_turn(*params),
        ClientRequest::TurnInterrupt(params) => {
            interrupt_turn(&params.thread_id.unwrap(), &params.turn_id.unwrap()).into()
        }
        other => panic!("the recorder does not send {other:?}"),
    }
}

/// The answers that a host can give to a request. `sent` is the recorded answer.
fn possible_answers(request: &str, sent: &Value) -> Vec<Value> {
    let mut chosen = Vec::new();
    if let ServerRequest::ItemToolRequestUserInput(ToolRequestUserInputParams { questions, .. }) =
        ServerRequestEnvelope::decode(request).unwrap().value.message
    {
        let response = ToolRequestUserInputResponse::decode(&sent["result"].to_string()).unwrap().value;
        let mut answers = response.answers.unwrap();
        let ids = questions.unwrap().into_iter().map(|question| question.id.unwrap());
        chosen = ids.filter_map(|id| answers.remove(&id)?.answers).collect();
    }
    let replies = REPLIES.into_iter().chain([Reply::Answers(&chosen)]);
    let answer = |reply| {
        let mut pending = PendingRequests::new(None);
        pending.receive(request, SystemTime::now()).unwrap();
        parse(&pending.reply(&sent["id"].to_string(), reply).unwrap())
    };
    replies.map(answer).collect()
}

#[test]
fn lines_of_the_recorder_can_be_rebuilt() {
    let mut rebuilt = 0;
    for recording in recordings().into_iter().filter(|recording| recording.provenance == Provenance::Recorded) {
        let name = recording.path.display();
        for Sent { line, request } in sent(&recording) {
            let value = parse(&line);
            rebuilt += 1;
            if value.get("method").is_none() {
                let answers = possible_answers(&request.expect("the answer has no request"), &value);
                assert!(answers.contains(&value), "{name}: {value} is none of {answers:?}");
            } else if value.get("id").is_none() {
                assert_eq!(parse(&initialized()), value, "{name}");
            } else {
                let ClientRequestEnvelope { id, message } = ClientRequestEnvelope::decode(&line).unwrap().value;
                let RequestId::Number(id) = id else { panic!("{name}: {line}") };
                let again = parse(&rebuild(message).into_line(u64::try_from(id).unwrap()));
                // Plan mode was recorded with a null for the instructions.
                let has_nulls = value["params"].get("collaborationMode").is_some();
                let expected = if has_nulls { without_nulls(value) } else { value };
                assert_eq!(again, expected, "{name}");
            }
        }
    }
    assert!(rebuilt > 800, "{rebuilt}");
}
