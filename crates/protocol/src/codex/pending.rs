//! Requests of the server, and their answers.

use std::collections::HashMap;
use std::time::SystemTime;

use interlingua_native::codex::{
    ApplyPatchApprovalParams, ApplyPatchApprovalResponse, CommandExecutionApprovalDecisionText,
    CommandExecutionRequestApprovalParams, CommandExecutionRequestApprovalResponse, CurrentTimeReadParams,
    CurrentTimeReadResponse, ExecCommandApprovalParams, ExecCommandApprovalResponse, FileChangeApprovalDecision,
    FileChangeRequestApprovalParams, FileChangeRequestApprovalResponse, GrantedPermissionProfile,
    McpServerElicitationAction, McpServerElicitationRequestParams, McpServerElicitationRequestResponse,
    PermissionGrantScope, PermissionsRequestApprovalParams, PermissionsRequestApprovalResponse, RequestId,
    RequestPermissionProfile, ReviewDecision, ReviewDecisionObject, ReviewDecisionObjectDenied, ReviewDecisionText,
    ServerNotification, ServerRequest, ServerRequestEnvelope, ToolRequestUserInputAnswer, ToolRequestUserInputParams,
    ToolRequestUserInputResponse,
};
use interlingua_native::new;
use interlingua_native::{DecodeError, Json, Native as _};
use semver::Version;
use serde_json::{Map, Value};

use super::{refuse_unsupported, respond, support, to_json};
use crate::form;

/// The user's reply to a request of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Approves, this time.
    Allow,
    /// Approves, for the rest of the session.
    AllowForSession,
    /// Denies, or does not answer, for this reason. Most answers have no field for a reason.
    Reject(&'a str),
    /// For each question in order, the chosen options or the written text. A form takes the first.
    Answers(&'a [Vec<String>]),
}

/// The result of receiving a request of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The request waits for a reply. Contains its key: the text of the request id.
    Pending(String),
    /// The host answers without asking the user. Contains the line to send.
    Answered(String),
}

/// The server's requests that wait for a reply.
#[derive(Debug)]
pub struct PendingRequests {
    version: Option<Version>,
    pending: HashMap<String, PendingRequest>,
}

#[derive(Debug)]
struct PendingRequest {
    id: RequestId,
    subject: Subject,
}

/// What the server asks for.
#[derive(Debug)]
enum Subject {
    Command,
    FileChange,
    /// A command, in the format before there were threads.
    LegacyCommand,
    /// A patch, in the format before there were threads.
    LegacyPatch,
    /// Wider permissions.
    Permissions(RequestPermissionProfile),
    /// Questions, by their ids.
    Questions(Vec<String>),
    /// A form of an MCP server, or a page to visit.
    Form {
        schema: Option<Value>,
    },
    /// The permission for an MCP tool, asked as an elicitation.
    FormApproval,
}

impl PendingRequests {
    /// For a server of this version.
    #[must_use]
    pub fn new(version: Option<Version>) -> Self {
        Self { version, pending: HashMap::new() }
    }

    /// Adds a request, or answers it if that takes no user.
    ///
    /// # Errors
    /// If the line is not a request, or its parameters cannot be decoded.
    pub fn receive(&mut self, line: &str, now: SystemTime) -> Result<Received, DecodeError> {
        let ServerRequestEnvelope { id, message } = ServerRequestEnvelope::decode(line)?.value;
        let unsupported = |id, method| Ok(Received::Answered(refuse_unsupported(id, method)));
        let subject = match message {
            ServerRequest::ItemCommandExecutionRequestApproval(_) => Subject::Command,
            ServerRequest::ItemFileChangeRequestApproval(_) => Subject::FileChange,
            ServerRequest::ItemToolRequestUserInput(params) => {
                let questions = params.questions.unwrap_or_default();
                Subject::Questions(questions.into_iter().map(|question| question.id.unwrap_or_default()).collect())
            }
            ServerRequest::McpServerElicitationRequest(params) => Subject::from_elicitation(params),
            ServerRequest::ItemPermissionsRequestApproval(params) => {
                Subject::Permissions(params.permissions.unwrap_or_default())
            }
            ServerRequest::ApplyPatchApproval(_) => Subject::LegacyPatch,
            ServerRequest::ExecCommandApproval(_) => Subject::LegacyCommand,
            ServerRequest::CurrentTimeRead(_) => {
                let response = new!(CurrentTimeReadResponse { current_time_at: unix_seconds(now) });
                return Ok(Received::Answered(respond::<CurrentTimeReadParams>(id, &response)));
            }
            // Tools, account and attestation of the host: it has none.
            ServerRequest::ItemToolCall(_) => return unsupported(id, "item/tool/call"),
            ServerRequest::AccountChatgptAuthTokensRefresh(_) => {
                return unsupported(id, "account/chatgptAuthTokens/refresh");
            }
            ServerRequest::AttestationGenerate(_) => return unsupported(id, "attestation/generate"),
            ServerRequest::Unknown { tag, .. } => return unsupported(id, &tag),
        };
        let key = id.to_string();
        self.pending.insert(key.clone(), PendingRequest { id, subject });
        Ok(Received::Pending(key))
    }

    /// Removes the request that a `serverRequest/resolved` notification names: the server does not wait for a reply any
    /// more.
    pub fn resolve(&mut self, line: &str) {
        if let Ok(decoded) = ServerNotification::decode(line)
            && let ServerNotification::ServerRequestResolved(resolved) = decoded.value
            && let Some(id) = resolved.request_id
        {
            self.pending.remove(&id.to_string());
        }
    }

    /// The line that answers a request. A reply that does not match the request denies it. `None` if no request with
    /// this key is pending.
    pub fn reply(&mut self, key: &str, reply: Reply<'_>) -> Option<String> {
        let PendingRequest { id, subject } = self.pending.remove(key)?;
        Some(match subject {
            Subject::Command => {
                let decision = match reply {
                    Reply::Allow => CommandExecutionApprovalDecisionText::Accept,
                    Reply::AllowForSession => CommandExecutionApprovalDecisionText::AcceptForSession,
                    Reply::Reject(_) | Reply::Answers(_) => CommandExecutionApprovalDecisionText::Decline,
                };
                let response = new!(CommandExecutionRequestApprovalResponse { decision: decision.into() });
                respond::<CommandExecutionRequestApprovalParams>(id, &response)
            }
            Subject::FileChange => {
                let decision = match reply {
                    Reply::Allow => FileChangeApprovalDecision::Accept,
                    Reply::AllowForSession => FileChangeApprovalDecision::AcceptForSession,
                    Reply::Reject(_) | Reply::Answers(_) => FileChangeApprovalDecision::Decline,
                };
                let response = new!(FileChangeRequestApprovalResponse { decision: decision });
                respond::<FileChangeRequestApprovalParams>(id, &response)
            }
            Subject::LegacyCommand => {
                let response = new!(ExecCommandApprovalResponse { decision: self.review_decision(reply) });
                respond::<ExecCommandApprovalParams>(id, &response)
            }
            Subject::LegacyPatch => {
                let response = new!(ApplyPatchApprovalResponse { decision: self.review_decision(reply) });
                respond::<ApplyPatchApprovalParams>(id, &response)
            }
            Subject::Permissions(requested) => {
                respond::<PermissionsRequestApprovalParams>(id, &grant_permissions(requested, reply))
            }
            Subject::Questions(questions) => {
                respond::<ToolRequestUserInputParams>(id, &answer_questions(questions, reply))
            }
            Subject::Form { schema } => respond_to_form(id, &fill_in(schema.as_ref(), reply)),
            Subject::FormApproval => respond_to_form(id, &approve_form(reply)),
        })
    }

    /// A decision in the format before there were threads.
    fn review_decision(&self, reply: Reply<'_>) -> ReviewDecision {
        let reason = match reply {
            Reply::Allow => return ReviewDecisionText::Approved.into(),
            Reply::AllowForSession => return ReviewDecisionText::ApprovedForSession.into(),
            Reply::Reject(reason) => reason,
            Reply::Answers(_) => "",
        };
        if support::DENIED_WITH_REASON.includes(self.version.as_ref()) {
            let denied = Some(new!(ReviewDecisionObjectDenied { rejection: reason }));
            ReviewDecisionObject { denied, ..ReviewDecisionObject::new() }.into()
        } else {
            ReviewDecisionText::from("denied").into()
        }
    }
}

impl Subject {
    fn from_elicitation(params: McpServerElicitationRequestParams) -> Self {
        let (meta, schema) = match params {
            McpServerElicitationRequestParams::OpenaiUserVerification(params) => (params.meta, None),
            McpServerElicitationRequestParams::Form(params) => {
                (params.meta, params.requested_schema.map(|schema| to_json(&schema)))
            }
            McpServerElicitationRequestParams::OpenaiForm(params) => (params.meta, params.requested_schema),
            McpServerElicitationRequestParams::OpenaiForm2(params) => (params.meta, params.requested_schema),
            McpServerElicitationRequestParams::Url(params) => (params.meta, None),
            // A mode of a later release is assumed to have the fields of the known ones.
            other @ McpServerElicitationRequestParams::Unknown { .. } => {
                let params = to_json(&other).to_value();
                let part = |key: &str| params.get(key).filter(|part| !part.is_null()).cloned().map(Json::from);
                (part("_meta"), part("requestedSchema"))
            }
        };
        // Codex asks for the permission to call an MCP tool by an elicitation.
        let is_approval = meta.is_some_and(|meta| !meta.to_value()["codex_approval_kind"].is_null());
        if is_approval {
            return Self::FormApproval;
        }
        Self::Form { schema: schema.map(|schema| schema.to_value()) }
    }
}

/// Grants the requested permissions, or none.
fn grant_permissions(requested: RequestPermissionProfile, reply: Reply<'_>) -> PermissionsRequestApprovalResponse {
    let RequestPermissionProfile { file_system, network, .. } = requested;
    let mut all = GrantedPermissionProfile::new();
    (all.file_system, all.network) = (file_system, network);
    let (granted, scope) = match reply {
        Reply::Allow => (all, PermissionGrantScope::Turn),
        Reply::AllowForSession => (all, PermissionGrantScope::Session),
        Reply::Reject(_) | Reply::Answers(_) => (GrantedPermissionProfile::new(), PermissionGrantScope::Turn),
    };
    PermissionsRequestApprovalResponse {
        scope: Some(scope),
        ..new!(PermissionsRequestApprovalResponse { permissions: granted })
    }
}

fn answer_questions(questions: Vec<String>, reply: Reply<'_>) -> ToolRequestUserInputResponse {
    let answers = if let Reply::Answers(answers) = reply { answers } else { &[] };
    let answers = answers.iter().cloned().map(|answers| new!(ToolRequestUserInputAnswer { answers: answers }));
    new!(ToolRequestUserInputResponse { answers: questions.into_iter().zip(answers).collect() })
}

/// Fills in a form. An answer that does not match the form declines it.
fn fill_in(schema: Option<&Value>, reply: Reply<'_>) -> McpServerElicitationRequestResponse {
    let Reply::Answers(answers) = reply else { return decline_form() };
    let answer = answers.first().map_or(&[] as &[String], Vec::as_slice);
    form::fill_in(schema, answer).map_or_else(decline_form, |content| accept_form(content, Value::Null))
}

fn approve_form(reply: Reply<'_>) -> McpServerElicitationRequestResponse {
    let content = || Value::Object(Map::new());
    match reply {
        Reply::Allow => accept_form(content(), Value::Null),
        Reply::AllowForSession => {
            accept_form(content(), Map::from_iter([("persist".to_owned(), "session".into())]).into())
        }
        Reply::Reject(_) | Reply::Answers(_) => decline_form(),
    }
}

fn accept_form(content: Value, meta: Value) -> McpServerElicitationRequestResponse {
    let (content, meta) = (Some(Json::from(content)), Some(Json::from(meta)));
    McpServerElicitationRequestResponse {
        content,
        meta,
        ..new!(McpServerElicitationRequestResponse { action: McpServerElicitationAction::Accept })
    }
}

fn decline_form() -> McpServerElicitationRequestResponse {
    let null = || Some(Json::from(Value::Null));
    McpServerElicitationRequestResponse {
        content: null(),
        meta: null(),
        ..new!(McpServerElicitationRequestResponse { action: McpServerElicitationAction::Decline })
    }
}

fn respond_to_form(id: RequestId, response: &McpServerElicitationRequestResponse) -> String {
    respond::<McpServerElicitationRequestParams>(id, response)
}

fn unix_seconds(now: SystemTime) -> i64 {
    let elapsed = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONCE_ALWAYS_NEVER: [Reply<'_>; 3] = [Reply::Allow, Reply::AllowForSession, Reply::Reject("too risky")];

    fn receive(version: Option<Version>, method: &str, params: &Value) -> PendingRequests {
        let mut requests = PendingRequests::new(version);
        let line = json!({"method": method, "id": 0, "params": params}).to_string();
        let received = requests.receive(&line, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(received, Received::Pending("0".to_owned()));
        requests
    }

    fn result(line: Option<String>) -> Value {
        let mut line: Value = serde_json::from_str(&line.expect("an answer")).unwrap();
        assert_eq!(line["id"], 0);
        line["result"].take()
    }

    fn replies(method: &str, params: &Value) -> [Value; 3] {
        ONCE_ALWAYS_NEVER.map(|reply| result(receive(None, method, params).reply("0", reply)))
    }

    #[test]
    fn a_permission_is_answered_with_the_decision_of_its_kind() {
        let decisions = |words: [&str; 3]| words.map(|word| json!({ "decision": word }));
        let item = json!({"itemId": "i"});
        let approval = decisions(["accept", "acceptForSession", "decline"]);
        assert_eq!(replies("item/commandExecution/requestApproval", &item), approval);
        assert_eq!(replies("item/fileChange/requestApproval", &item), approval);
        let asks = json!({"permissions": {"network": {"enabled": true}, "fileSystem": null}});
        let [once, always, never] = replies("item/permissions/requestApproval", &asks);
        assert_eq!(once, json!({"permissions": {"network": {"enabled": true}}, "scope": "turn"}));
        assert_eq!(always["scope"], "session");
        assert_eq!(never["permissions"], json!({}));
    }

    #[test]
    fn the_format_of_a_legacy_denial_depends_on_the_version() {
        let [once, always, never] = replies("applyPatchApproval", &json!({}));
        assert_eq!([&once["decision"], &always["decision"]], ["approved", "approved_for_session"]);
        assert_eq!(never["decision"], json!({"denied": {"rejection": "too risky"}}));
        let mut old = receive(Some(Version::new(0, 130, 0)), "execCommandApproval", &json!({}));
        assert_eq!(result(old.reply("0", Reply::Reject("too risky"))), json!({"decision": "denied"}));
    }

    #[test]
    fn the_elicitation_of_a_tool_approval_is_a_permission() {
        let meta = json!({"codex_approval_kind": "mcp_tool_call"});
        let tool = json!({"mode": "form", "message": "May I?", "_meta": meta, "requestedSchema": {"type": "object"}});
        let [once, always, never] = replies("mcpServer/elicitation/request", &tool);
        assert_eq!(once, json!({"action": "accept", "content": {}, "_meta": null}));
        assert_eq!(always["_meta"]["persist"], "session");
        assert_eq!(never, json!({"action": "decline", "content": null, "_meta": null}));
    }

    #[test]
    fn questions_are_answered_by_their_ids_or_not_at_all() {
        let question = |id: &str| json!({"id": id, "question": "Which?"});
        let params = json!({"itemId": "i", "questions": [question("db"), question("lang")]});
        let answers = [vec!["SQLite".to_owned()], vec!["Rust".to_owned(), "Go".to_owned()]];
        let mut requests = receive(None, "item/tool/requestUserInput", &params);
        let answer = result(requests.reply("0", Reply::Answers(&answers)));
        assert_eq!(answer, json!({"answers": {"db": {"answers": ["SQLite"]}, "lang": {"answers": ["Rust", "Go"]}}}));
        for reply in ONCE_ALWAYS_NEVER {
            let mut requests = receive(None, "item/tool/requestUserInput", &params);
            assert_eq!(result(requests.reply("0", reply)), json!({"answers": {}}));
        }
    }

    #[test]
    fn a_form_is_filled_in_or_declined() {
        let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}}});
        let params = json!({"mode": "form", "message": "How old?", "requestedSchema": schema});
        let fill_in = |words: &str| {
            let answers = [vec![words.to_owned()]];
            result(receive(None, "mcpServer/elicitation/request", &params).reply("0", Reply::Answers(&answers)))
        };
        assert_eq!(fill_in("7"), json!({"action": "accept", "content": {"age": 7}, "_meta": null}));
        assert_eq!(fill_in("seven")["action"], "decline");
        let mut requests = receive(None, "mcpServer/elicitation/request", &params);
        assert_eq!(result(requests.reply("0", Reply::Reject("")))["action"], "decline");
    }

    #[test]
    fn a_request_that_needs_no_user_is_answered_at_once() {
        let mut requests = PendingRequests::new(None);
        let mut answer = |line: &str| {
            let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(7);
            let received = requests.receive(line, now).unwrap();
            let Received::Answered(line) = received else { panic!("{received:?}") };
            serde_json::from_str::<Value>(&line).unwrap()
        };
        let tool = answer(r#"{"method":"item/tool/call","id":"x","params":{}}"#);
        assert_eq!((&tool["id"], &tool["error"]["code"]), (&json!("x"), &json!(-32601)));
        assert_eq!(answer(r#"{"method":"some/new/request","id":1,"params":{}}"#)["error"]["code"], -32601);
        let time = answer(r#"{"method":"currentTime/read","id":2,"params":{"threadId":"t"}}"#);
        assert_eq!(time, json!({"id": 2, "result": {"currentTimeAt": 7}}));
    }

    #[test]
    fn a_resolved_or_unreadable_request_has_no_answer() {
        let mut requests = receive(None, "item/commandExecution/requestApproval", &json!({"itemId": "i"}));
        requests.resolve(r#"{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}"#);
        assert_eq!(requests.reply("0", Reply::Allow), None);
        let unreadable = r#"{"method":"item/commandExecution/requestApproval","id":1,"params":{}}"#;
        assert!(requests.receive(unreadable, SystemTime::UNIX_EPOCH).is_err());
    }
}
