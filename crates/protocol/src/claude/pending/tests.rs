//! Replies to the control requests of the agent.

use serde_json::{Value, json};

use super::*;

fn pending_with(request: &Value) -> PendingRequests {
    pending_with_mode(None, request)
}

fn pending_with_mode(mode_after_plan: Option<PermissionMode>, request: &Value) -> PendingRequests {
    let mut pending = PendingRequests::new(mode_after_plan);
    let line = json!({"type": "control_request", "request_id": "r", "request": request});
    assert_eq!(pending.receive(&line.to_string()), Received::Pending("r".to_owned()));
    pending
}

fn response(line: Option<String>) -> Value {
    let line: Value = serde_json::from_str(&line.expect("an answer")).unwrap();
    assert_eq!((&line["type"], &line["response"]["request_id"]), (&json!("control_response"), &json!("r")));
    assert_eq!(line["response"]["subtype"], "success");
    line["response"]["response"].clone()
}

fn reply_to(request: &Value, reply: Reply<'_>) -> Value {
    response(pending_with(request).reply("r", reply))
}

fn bash() -> Value {
    let rules = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}]});
    json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"},
           "permission_suggestions": [rules, {"type": "setMode", "mode": "acceptEdits"}]})
}

#[test]
fn an_allowed_tool_runs_with_its_input() {
    let once = reply_to(&bash(), Reply::Allow);
    assert_eq!(once, json!({"behavior": "allow", "updatedInput": {"command": "ls"}}));
    let never = reply_to(&bash(), Reply::Deny("no"));
    assert_eq!(never, json!({"behavior": "deny", "message": "no"}));
}

#[test]
fn the_input_is_returned_byte_for_byte() {
    let input = r#"{"b": 1.50, "a": 12345678901234567890123, "text": "\u00e9"}"#;
    let line = format!(
        r#"{{"type":"control_request","request_id":"r","request":{{"subtype":"can_use_tool","tool_name":"T","input":{input}}}}}"#
    );
    let mut pending = PendingRequests::default();
    pending.receive(&line);
    let answer = pending.reply("r", Reply::Allow).unwrap();
    assert!(answer.contains(&format!(r#""updatedInput":{input}"#)), "{answer}");
}

#[test]
fn a_reply_from_now_on_grants_the_narrowest_rules() {
    let rules = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}]});
    let always = reply_to(&bash(), Reply::AllowAlways);
    assert_eq!(always["updatedPermissions"], json!([rules]));
    let suggested = reply_to(&bash(), Reply::AllowSuggested);
    assert_eq!(suggested["updatedPermissions"], json!([rules, {"type": "setMode", "mode": "acceptEdits"}]));
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let only_mode =
        json!({"subtype": "can_use_tool", "tool_name": "Edit", "input": {}, "permission_suggestions": mode});
    assert_eq!(reply_to(&only_mode, Reply::AllowAlways)["updatedPermissions"], mode);
    let bare = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}});
    let rule =
        json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"});
    assert_eq!(reply_to(&bare, Reply::AllowAlways)["updatedPermissions"], json!([rule]));
    assert_eq!(reply_to(&bare, Reply::AllowSuggested), json!({"behavior": "allow", "updatedInput": {}}));
}

#[test]
fn answers_are_keyed_by_question_text() {
    let questions = json!([{"question": "Which?"}, {"question": "What else?"}]);
    let request = json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": questions}});
    let answers = [vec!["One".to_owned()], vec!["Two".to_owned(), "Three".to_owned()]];
    let input = json!({"questions": questions, "answers": {"Which?": "One", "What else?": "Two, Three"}});
    let answer = reply_to(&request, Reply::Answers(&answers));
    assert_eq!(answer, json!({"behavior": "allow", "updatedInput": input}));
    assert_eq!(reply_to(&request, Reply::Dismiss), json!({"behavior": "deny", "message": NOT_ANSWERED}));
}

#[test]
fn only_the_answer_approve_approves_a_plan() {
    let request = json!({"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": {"plan": "# Plan"}});
    let answered = |words: &str| reply_to(&request, Reply::Answers(&[vec![words.to_owned()]]));
    assert_eq!(answered("approve"), json!({"behavior": "allow", "updatedInput": {"plan": "# Plan"}}));
    assert_eq!(answered("reject"), json!({"behavior": "deny", "message": REFUSAL_MESSAGE}));
    assert_eq!(answered("use tabs"), json!({"behavior": "deny", "message": "use tabs"}));
    let mut accepting = pending_with_mode(Some(PermissionMode::AcceptEdits), &request);
    let approved = response(accepting.reply("r", Reply::Answers(&[vec!["approve".to_owned()]])));
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    assert_eq!(approved["updatedPermissions"], mode);
}

#[test]
fn a_form_is_filled_in_or_declined() {
    let schema = json!({"properties": {"age": {"type": "integer"}}});
    let form = json!({"subtype": "elicitation", "message": "How old?", "requested_schema": schema});
    let answered = |words: &str| reply_to(&form, Reply::Answers(&[vec![words.to_owned()]]));
    assert_eq!(answered("7"), json!({"action": "accept", "content": {"age": 7}}));
    assert_eq!(answered("seven"), json!({"action": "decline"}));
    assert_eq!(reply_to(&form, Reply::Dismiss), json!({"action": "decline"}));
    assert_eq!(reply_to(&form, Reply::Allow), json!({"action": "decline"}));
}

#[test]
fn a_dialog_is_completed_or_cancelled() {
    let dialog = json!({"subtype": "request_user_dialog", "dialog_kind": "x", "payload": {}});
    let completed = reply_to(&dialog, Reply::Answers(&[vec!["yes".to_owned()]]));
    assert_eq!(completed, json!({"behavior": "completed", "result": "yes"}));
    assert_eq!(reply_to(&dialog, Reply::Dismiss), json!({"behavior": "cancelled"}));
}

#[test]
fn unsupported_requests_are_refused_at_once() {
    for request in [
        r#"{"subtype":"mcp_message","server_name":"x"}"#,
        r#"{"subtype":"of_a_later_release"}"#,
        // Without its input, a tool cannot be shown to the user.
        r#"{"subtype":"can_use_tool","tool_name":"Bash"}"#,
    ] {
        let line = format!(r#"{{"type":"control_request","request_id":"r","request":{request}}}"#);
        let Received::Refused(refusal) = PendingRequests::default().receive(&line) else { panic!("{line}") };
        let refusal: Value = serde_json::from_str(&refusal).unwrap();
        let response = json!({"subtype": "error", "request_id": "r", "error": NOT_SUPPORTED});
        assert_eq!(refusal, json!({"type": "control_response", "response": response}));
    }
}

#[test]
fn a_withdrawn_request_has_no_answer() {
    let mut pending = pending_with(&bash());
    let cancel = r#"{"type":"control_cancel_request","request_id":"r"}"#;
    assert_eq!(pending.receive(cancel), Received::Withdrawn("r".to_owned()));
    assert_eq!(pending.reply("r", Reply::Allow), None);
    assert_eq!(pending.receive(r#"{"type":"assistant","message":{}}"#), Received::Other);
}
