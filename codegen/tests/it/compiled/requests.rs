//! Types that a host sends: constructors, conversions into unions, and the responses to requests.

use interlingua_native_runtime::new;
use interlingua_native_runtime::{HttpRequest, Native, Request};
use serde_json::json;

use super::{decode, encode, http, sent};

#[test]
fn a_constructor_takes_the_required_fields_and_omits_the_others() {
    let text = new!(sent::TextInput { text: "hello" });
    let mut params = new!(sent::TurnStartParams { input: vec![text.into()], parent: None, thread: "t1" });
    let required = json!({ "input": [{ "type": "text", "text": "hello" }], "parent": null, "thread": "t1" });
    assert_eq!(encode(&sent::HostMessage::from(params.clone()))["params"], required);
    params.model = Some("large".to_owned());
    params.input = Some(vec![sent::PauseInput::new().into()]);
    assert_eq!(serde_json::to_value(&params).unwrap()["model"], "large");
    assert_eq!(serde_json::to_value(&params).unwrap()["input"], json!([{ "type": "pause" }]));
}

#[test]
fn an_encoded_request_has_its_id_and_method() {
    let params = new!(sent::TurnStartParams { input: Vec::new(), parent: None, thread: "t1" });
    let message = sent::HostMessageEnvelope { id: Some(7.into()), message: params.into() };
    let line = json!({ "id": 7, "method": "turn/start", "params": { "input": [], "parent": null, "thread": "t1" } });
    assert_eq!(encode(&message), line);
}

#[test]
fn a_request_decides_the_type_of_its_response() {
    fn decode_response<R: Request>(_: &R, text: &str) -> R::Response {
        R::Response::decode(text).unwrap().value
    }
    // The type of the host's response is also decided by the agent's request.
    fn reply<R: Request<Response = sent::ApproveResponse>>(_: &R) -> R::Response {
        new!(sent::ApproveResponse { decision: sent::ApproveResponseDecision::Yes })
    }
    let params = new!(sent::TurnStartParams { input: Vec::new(), parent: None, thread: "t1" });
    assert_eq!(decode_response(&params, r#"{"turn":"1"}"#).turn.as_deref(), Some("1"));
    assert_eq!(<sent::TurnStartParams as Request>::METHOD, "turn/start");
    let request: sent::ApproveParams = serde_json::from_str(r#"{"command":"ls"}"#).unwrap();
    assert_eq!(encode(&reply(&request)), json!({ "decision": "yes" }));
}

#[test]
fn an_http_request_has_path_query_body_and_the_type_of_its_response() {
    let query = new!(http::PromptQuery { directory: "/workspace" });
    let request = http::PromptRequest::new("ses 1", query, new!(http::PromptBody { text: "hello" }));
    assert_eq!((http::PromptRequest::METHOD, http::PromptRequest::PATH), ("POST", "/session/{sessionID}/prompt"));
    assert_eq!(request.parameters(), [("sessionID", "ses 1")]);
    assert_eq!(serde_json::to_value(request.query()).unwrap(), json!({ "directory": "/workspace" }));
    assert_eq!(serde_json::to_value(request.body()).unwrap(), json!({ "text": "hello" }));
    <http::PromptRequest as HttpRequest>::Response::decode("").unwrap();
    let sessions = decode::<<http::SessionListRequest as HttpRequest>::Response>(r#"[{"id":"1","title":"one"}]"#);
    assert_eq!(sessions[0].title.as_deref(), Some("one"));
    assert_eq!(http::SessionListRequest::new().body(), None);
    let statuses = r#"{"1":{"type":"busy"},"2":{"type":"asleep"}}"#;
    let statuses = <http::SessionStatusesRequest as HttpRequest>::Response::decode(statuses).unwrap().value;
    assert!(matches!(statuses["1"], http::Status::Busy(_)));
    assert!(matches!(statuses["2"], http::Status::Unknown { .. }));
}
