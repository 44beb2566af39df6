//! Any line of `codex app-server` decodes without knowing its kind.

use std::collections::BTreeMap;

use interlingua_convert::Agent;
use interlingua_native::CodexServerLine;
use interlingua_native::codex::{ServerNotification, ServerRequest};
use interlingua_snapshots::recordings;

#[test]
fn every_line_of_the_app_server_has_its_kind() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let app_server = |line: &String| line.starts_with('{') && !line.contains(super::LEGACY_METHOD_PREFIX);
    for recording in recordings().unwrap().into_iter().filter(|recording| recording.agent == Agent::Codex) {
        let is_exec =
            recording.received_lines().unwrap().iter().any(|line| line.contains(r#""type":"thread.started""#));
        if is_exec {
            continue;
        }
        for line in recording.received_lines().unwrap().iter().filter(|line| app_server(line)) {
            // Some recordings contain a line that was cut off.
            let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            let decoded =
                CodexServerLine::decode(line).unwrap_or_else(|error| panic!("{}: {error}: {line}", recording.name()));
            let (kind, id) = match decoded.value {
                CodexServerLine::Notification(_) => ("notification", None),
                CodexServerLine::Request(request) => ("request", Some(request.id)),
                CodexServerLine::Response(response) => ("response", response.id),
                CodexServerLine::Error(error) => ("error", error.id),
            };
            let expected = value.get("id").filter(|id| !id.is_null());
            assert_eq!(
                id.map(|id| id.to_string()),
                expected.map(|id| id.to_string().trim_matches('"').to_owned()),
                "{line}"
            );
            *kinds.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(
        kinds.keys().copied().collect::<Vec<_>>(),
        ["error", "notification", "request", "response"],
        "{kinds:?}"
    );
}

#[test]
fn a_method_of_a_later_release_is_unknown_and_text_is_an_error() {
    let notification = CodexServerLine::decode(r#"{"method":"thread/dreamt","params":{}}"#).unwrap().value;
    let CodexServerLine::Notification(notification) = notification else { panic!("{notification:?}") };
    assert!(matches!(notification.message, ServerNotification::Unknown { .. }));
    let request = CodexServerLine::decode(r#"{"id":"a","method":"dream/requested","params":{}}"#).unwrap().value;
    let CodexServerLine::Request(request) = request else { panic!("{request:?}") };
    assert!(matches!(request.message, ServerRequest::Unknown { .. }));
    assert!(CodexServerLine::decode("warning: text").is_err());
}

/// As in all generated types.
#[test]
fn of_a_key_that_is_there_twice_the_last_counts() {
    let params = r#"{"threadId":"t","turn":{"id":"1","items":[],"status":"inProgress"}}"#;
    let text = format!(r#"{{"method":"a","id":1,"method":"turn/started","id":null,"params":{params}}}"#);
    let line = CodexServerLine::decode(&text).unwrap();
    let CodexServerLine::Notification(notification) = line.value else { panic!("{line:?}") };
    assert!(matches!(notification.message, ServerNotification::TurnStarted(_)), "{notification:?}");
}
