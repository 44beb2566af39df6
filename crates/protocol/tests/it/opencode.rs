//! What is sent to OpenCode, checked against its OpenAPI document and its recordings.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use interlingua_agent_schemas::find;
use interlingua_native::opencode::{PermissionReplyBody, PromptBody, QuestionReplyBody, SessionCreateBody};
use interlingua_native::{HttpRequest, Native as _};
use interlingua_protocol::opencode::{
    self, Config, Event, HttpCall, HttpReply, HttpReplyError, PendingRequest, PermissionAction, PermissionActionConfig,
    PermissionConfig, PermissionConfigObject, PermissionDecision, PromptOptions, Request, Requests, SUPPORT,
    SessionOptions, file_part, local_mcp_server, parse_model, permission_rule, remote_mcp_server, text_part,
};
use interlingua_recordings::{Provenance, Transcripts};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::schema::{assert_valid, validator};

/// Requests of every kind, with all options and with none.
fn samples(requests: &Requests) -> Vec<Request> {
    use PermissionAction::{Allow, Ask, Deny};
    let rules = [("edit", Allow), ("bash", Ask), ("*", Deny)];
    let session = SessionOptions {
        title: Some("a title".to_owned()),
        permission: Some(rules.map(|(permission, action)| permission_rule(permission, action)).to_vec()),
    };
    let parts = vec![
        text_part("hello"),
        file_part("image/png", Some("a.png"), "file:///a.png"),
        file_part("text/plain", None, "file:///b%20c.md"),
    ];
    let prompt = PromptOptions {
        model: parse_model("lab/one/two"),
        agent: Some("plan".to_owned()),
        variant: Some("high".to_owned()),
    };
    let answers = vec![vec!["Blue".to_owned()], vec!["S".to_owned(), "free text".to_owned()], Vec::new()];
    let mut samples = vec![
        requests.subscribe().into(),
        requests.create_session(SessionOptions::default()).into(),
        requests.create_session(session).into(),
        requests.prompt("ses_1", Vec::new(), PromptOptions::default()).into(),
        requests.prompt("ses_1", parts, prompt).into(),
        requests.abort("ses_1").into(),
        requests.reply_to_permission("per_1", PermissionDecision::Reject, Some("The user refused this.")).into(),
        requests.answer_question("que_1", answers).into(),
        requests.reject_question("que_1").into(),
        requests.reject(&PendingRequest::Permission("per_1".to_owned())),
        requests.reject(&PendingRequest::Question("que_1".to_owned())),
        requests.list_session_statuses().into(),
        requests.list_agents().into(),
        requests.list_providers().into(),
        requests.get_configuration().into(),
    ];
    for decision in [PermissionDecision::Once, PermissionDecision::Always, PermissionDecision::Reject] {
        samples.push(requests.reply_to_permission("per_1", decision, None).into());
    }
    samples
}

/// OpenCode's OpenAPI document as it was pulled.
struct Document {
    value: Value,
    /// The validators that were built so far, by JSON pointer.
    validators: HashMap<String, Validator>,
}

impl Document {
    fn load() -> Self {
        let text = find("opencode").and_then(|schemas| schemas.file("schema.json")).expect("OpenCode has no schema");
        Self { value: serde_json::from_str(text).unwrap(), validators: HashMap::new() }
    }

    /// Checks the path, query and body of a call against its operation in the document.
    fn check(&mut self, (method, path): (&str, &str), call: &HttpCall) -> Result<(), String> {
        let pointer = format!("/paths/{}/{}", path.replace('~', "~0").replace('/', "~1"), method.to_lowercase());
        let declared = self.value.pointer(&pointer).ok_or("the operation does not exist")?.clone();
        let (called, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
        let mut given = path_parameters(path, called).ok_or("the path does not match its template")?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or("a parameter has no value")?;
            given.push(("query", name.to_owned(), unescape(value)));
        }
        let parameters = declared["parameters"].as_array().cloned().unwrap_or_default();
        for (place, name, value) in &given {
            let index = parameters.iter().position(|one| one["in"] == *place && one["name"] == name.as_str());
            let index = index.ok_or_else(|| format!("there is no parameter {name} in the {place}"))?;
            self.validate(&format!("{pointer}/parameters/{index}/schema"), &json!(value))?;
        }
        for parameter in parameters.iter().filter(|one| one["required"] == true) {
            if !given.iter().any(|(_, name, _)| parameter["name"] == name.as_str()) {
                return Err(format!("the parameter {} is missing", parameter["name"]));
            }
        }
        match (declared.get("requestBody"), &call.body) {
            (Some(_), Some(body)) => {
                let body = serde_json::from_str(body).map_err(|error| error.to_string())?;
                self.validate(&format!("{pointer}/requestBody/content/application~1json/schema"), &body)
            }
            (None, None) => Ok(()),
            (Some(_), None) => Err("the body is missing".to_owned()),
            (None, Some(_)) => Err("the operation has no body".to_owned()),
        }
    }

    fn validate(&mut self, pointer: &str, value: &Value) -> Result<(), String> {
        let validator = self.validators.entry(pointer.to_owned()).or_insert_with(|| validator("opencode", pointer));
        let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        if errors.is_empty() { Ok(()) } else { Err(format!("{value}: {}", errors.join(", "))) }
    }
}

/// The parameters in a path; `None` if the path does not match the template.
fn path_parameters(template: &str, path: &str) -> Option<Vec<(&'static str, String, String)>> {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    if template.len() != path.len() {
        return None;
    }
    let mut parameters = Vec::new();
    for (declared, given) in template.into_iter().zip(path) {
        match declared.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => parameters.push(("path", name.to_owned(), unescape(given))),
            None if declared == given => {}
            None => return None,
        }
    }
    Some(parameters)
}

fn unescape(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

#[test]
fn every_request_matches_the_openapi_document() {
    let mut document = Document::load();
    let mut seen = BTreeSet::new();
    for requests in [Requests::new(), Requests::in_directory(Path::new("/work/a b&c=d"))] {
        for request in samples(&requests) {
            let call = request.to_call(None);
            document.check(request.operation(), &call).unwrap_or_else(|error| panic!("{call:?}: {error}"));
            seen.insert(request.operation());
        }
    }
    let all: BTreeSet<_> = Request::OPERATIONS.iter().copied().collect();
    assert_eq!(seen, all, "an operation has no sample");
}

#[test]
fn an_invalid_request_is_detected() {
    let mut document = Document::load();
    let mut check = |path: &str, body: &str| {
        let call = HttpCall { method: "POST", path: path.to_owned(), body: Some(body.to_owned()) };
        document.check(("POST", "/session/{sessionID}/prompt_async"), &call).is_ok()
    };
    assert!(check("/session/ses_1/prompt_async?directory=/a", r#"{"parts":[]}"#));
    assert!(!check("/session/ses_1/prompt_async?folder=/a", r#"{"parts":[]}"#));
    assert!(!check("/session/per_1/prompt_async", r#"{"parts":[]}"#));
    assert!(!check("/session/ses_1/prompt_async", r#"{"parts":[{"type":"text"}]}"#));
    assert!(!check("/session/ses_1/prompt_async", r#"{"parts":[],"effort":"high"}"#));
}

#[test]
fn every_configuration_matches_the_openapi_document() {
    let configuration = validator("opencode", "/components/schemas/Config");
    let servers = [
        (
            "near".to_owned(),
            local_mcp_server(
                vec!["near".to_owned(), "-x".to_owned()],
                [("KEY".to_owned(), "secret".to_owned())].into(),
            ),
        ),
        (
            "far".to_owned(),
            remote_mcp_server(
                "https://far.example/mcp",
                [("Authorization".to_owned(), "Bearer secret".to_owned())].into(),
            ),
        ),
    ];
    // The union of both kinds does not require the fields that each kind requires.
    for (server, schema) in servers.iter().zip(["McpLocalConfig", "McpRemoteConfig"]) {
        let schema = validator("opencode", &format!("/components/schemas/{schema}"));
        assert_valid(&schema, &serde_json::to_value(&server.1).unwrap());
    }
    let ask = PermissionActionConfig::Ask;
    let permission = PermissionConfigObject {
        bash: Some(ask.clone().into()),
        edit: Some(ask.clone().into()),
        webfetch: Some(ask),
        ..PermissionConfigObject::new()
    };
    let addition =
        Config { mcp: Some(servers.into()), permission: Some(PermissionConfig::from(permission)), ..Config::new() };
    for existing in [None, Some(r#"{"model":"lab/one","mcp":{"near":{"enabled":false}}}"#)] {
        let text = opencode::add_to_configuration(existing, &addition);
        assert_valid(&configuration, &serde_json::from_str(&text).unwrap());
    }
}

/// A request in a recording.
struct Recorded {
    name: String,
    provenance: Provenance,
    version: String,
    method: String,
    path: String,
    body: Value,
    reply: Option<HttpReply>,
}

/// All requests in the recordings.
fn recorded_requests() -> Vec<Recorded> {
    let mut found = Vec::new();
    for recording in Transcripts::in_repository().for_agent("opencode").unwrap() {
        let text = std::fs::read_to_string(&recording.path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in lines.iter().filter(|line| line["dir"] == "send") {
            let reply = lines.iter().find(|reply| reply["dir"] == "reply" && reply["call"] == line["call"]);
            let reply = reply.map(|reply| {
                let body = Some(&reply["body"]).filter(|body| !body.is_null()).map(Value::to_string);
                let status = u16::try_from(reply["status"].as_u64().unwrap()).unwrap();
                HttpReply::new(status, Some("application/json"), body.unwrap_or_default())
            });
            found.push(Recorded {
                name: format!("{}/{} {}", recording.version, recording.scenario, line["path"]),
                provenance: recording.provenance,
                version: recording.version.clone(),
                method: line["method"].as_str().unwrap().to_owned(),
                path: line["path"].as_str().unwrap().to_owned(),
                body: line["body"].clone(),
                reply,
            });
        }
    }
    found
}

/// Rebuilds a recorded request; `None` if it is not one of a host's requests.
fn rebuild(recorded: &Recorded) -> Option<Request> {
    let (path, query) = recorded.path.split_once('?').unwrap_or((&recorded.path, ""));
    let requests = match query.strip_prefix("directory=") {
        Some(directory) => Requests::in_directory(Path::new(&unescape(directory))),
        None => Requests::new(),
    };
    let is_operation =
        |(method, template): &(&str, &str)| *method == recorded.method && path_parameters(template, path).is_some();
    let operation = Request::OPERATIONS.iter().copied().find(|operation| is_operation(operation))?;
    let parameters = path_parameters(operation.1, path)?;
    let id = parameters.first().map(|(_, _, value)| value.as_str()).unwrap_or_default();
    let body = recorded.body.to_string();
    // The samples have every variant, so this `match` covers all requests.
    let sample = samples(&requests).into_iter().find(|sample| sample.operation() == operation)?;
    Some(match sample {
        Request::Subscribe(_) => requests.subscribe().into(),
        Request::CreateSession(_) => {
            let SessionCreateBody { title, permission, .. } = SessionCreateBody::decode(&body).unwrap().value;
            requests.create_session(SessionOptions { title, permission }).into()
        }
        Request::Prompt(_) => {
            let PromptBody { parts, model, agent, variant, .. } = PromptBody::decode(&body).unwrap().value;
            requests.prompt(id, parts.unwrap(), PromptOptions { model, agent, variant }).into()
        }
        Request::Abort(_) => requests.abort(id).into(),
        Request::ReplyToPermission(_) => {
            let body = PermissionReplyBody::decode(&body).unwrap().value;
            requests.reply_to_permission(id, body.reply.unwrap(), body.message.as_deref()).into()
        }
        Request::AnswerQuestion(_) => {
            let body = QuestionReplyBody::decode(&body).unwrap().value;
            requests.answer_question(id, body.answers.unwrap()).into()
        }
        Request::RejectQuestion(_) => requests.reject_question(id).into(),
        Request::ListSessionStatuses(_) => requests.list_session_statuses().into(),
        Request::ListAgents(_) => requests.list_agents().into(),
        Request::ListProviders(_) => requests.list_providers().into(),
        Request::GetConfiguration(_) => requests.get_configuration().into(),
    })
}

/// Decodes a reply by the type of its request.
fn decode(request: &Request, reply: &HttpReply) -> Result<(), HttpReplyError> {
    fn answer<R: HttpRequest>(_: &R, reply: &HttpReply) -> Result<(), HttpReplyError> {
        reply.decode::<R>().map(drop)
    }
    match request {
        Request::Subscribe(request) => answer(request, reply),
        Request::CreateSession(request) => answer(request, reply),
        Request::Prompt(request) => answer(request, reply),
        Request::Abort(request) => answer(request, reply),
        Request::ReplyToPermission(request) => answer(request, reply),
        Request::AnswerQuestion(request) => answer(request, reply),
        Request::RejectQuestion(request) => answer(request, reply),
        Request::ListSessionStatuses(request) => answer(request, reply),
        Request::ListAgents(request) => answer(request, reply),
        Request::ListProviders(request) => answer(request, reply),
        Request::GetConfiguration(request) => answer(request, reply),
    }
}

#[test]
fn every_recorded_request_can_be_rebuilt_and_its_reply_decoded() {
    let mut document = Document::load();
    let mut versions = BTreeSet::new();
    let mut count = 0;
    for recorded in recorded_requests() {
        let Some(request) = rebuild(&recorded) else {
            assert_eq!(recorded.provenance, Provenance::Captured, "{} is not a known operation", recorded.name);
            continue;
        };
        // Captured recordings have requests that are invalid on purpose.
        let is_invalid = recorded.provenance == Provenance::Captured && recorded.body.get("bogus").is_some();
        if is_invalid {
            continue;
        }
        let version = recorded.version.parse().unwrap();
        let call = request.to_call(Some(&version));
        assert_eq!((call.method, &call.path), (recorded.method.as_str(), &recorded.path), "{}", recorded.name);
        let body = call.body.as_deref().map_or(Value::Null, |body| serde_json::from_str(body).unwrap());
        assert_eq!(body, recorded.body, "{}", recorded.name);
        document.check(request.operation(), &call).unwrap_or_else(|error| panic!("{}: {error}", recorded.name));
        if recorded.provenance == Provenance::Recorded {
            let reply = recorded.reply.unwrap_or_else(|| panic!("{} was not answered", recorded.name));
            decode(&request, &reply).unwrap_or_else(|error| panic!("{}: {error}", recorded.name));
            versions.insert(recorded.version);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
    assert!(versions.len() > 1, "{versions:?}");
}

#[test]
fn every_recorded_answer_has_a_request() {
    for recording in Transcripts::in_repository().for_agent("opencode").unwrap() {
        if recording.provenance == Provenance::Captured {
            continue;
        }
        let text = std::fs::read_to_string(&recording.path).unwrap();
        let mut requested = BTreeSet::new();
        for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if let Some(event) = line["line"].as_str().filter(|_| line["dir"] == "recv") {
                let event = Event::decode(event).unwrap().value;
                requested.extend(PendingRequest::from_event(&event));
            }
            let path = line["path"].as_str().unwrap_or_default();
            let answered = match path.split('/').collect::<Vec<_>>().as_slice() {
                ["", "permission", id, "reply"] => PendingRequest::Permission((*id).to_owned()),
                ["", "question", id, "reply" | "reject"] => PendingRequest::Question((*id).to_owned()),
                _ => continue,
            };
            assert!(requested.contains(&answered), "{}: {answered:?} has no request", recording.scenario);
        }
    }
}

#[test]
fn every_version_range_has_a_recording_as_evidence() {
    let transcripts = Transcripts::in_repository();
    for support in SUPPORT {
        transcripts.find(support.evidence).unwrap_or_else(|error| panic!("{}: {error}", support.name));
        let operation = Request::OPERATIONS.iter().find(|(method, path)| {
            support.name.strip_prefix(&format!("{method} {path}.")).is_some_and(|field| !field.contains(['/', '.']))
        });
        assert!(operation.is_some(), "{} is not a field of an operation", support.name);
    }
}
