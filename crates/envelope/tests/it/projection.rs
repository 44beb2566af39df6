//! Projection of messages, requests, turns and sessions.

use interlingua_envelope::{AgentWrapperCompletionStatus as Status, AgentWrapperEvent, AgentWrapperEventKind as Kind};
use interlingua_schema::{
    ContentPart, Decision, ErrorCode, ErrorEvent, EventData, Item, ItemKind, Origin, Permission, Question,
    QuestionAnswer, Role, SessionEnded, SessionStarted, StatusLabel, TurnEnded, TurnStatus, Usage, Visibility,
};
use serde_json::{Value, json};

use crate::test_projector::{TestProjector, call, completed, event, failed, message, named_call, result, started};

/// Decodes metadata.
fn from_json<T: serde::de::DeserializeOwned>(metadata: Value) -> T {
    serde_json::from_value(metadata).unwrap()
}

fn text(text: &str) -> Vec<ContentPart> {
    vec![ContentPart::text(text)]
}

fn messages(projector: &TestProjector) -> Vec<&str> {
    projector.events.iter().filter_map(AgentWrapperEvent::message).collect()
}

#[test]
fn streamed_text_is_not_repeated_on_completion() {
    let mut projector = TestProjector::new();
    projector.push_data(started(message("i", Role::Assistant, Vec::new()))).delta("i", "Hel").delta("i", "lo");
    projector.push_data(completed(message("i", Role::Assistant, text("Hello"))));
    assert_eq!(projector.texts("assistant"), ["Hel", "lo"]);
    assert_eq!(projector.events.len(), 2);
}

#[test]
fn text_that_was_not_streamed_is_sent_on_completion() {
    let mut projector = TestProjector::new();
    projector.push_data(started(message("i", Role::Assistant, Vec::new())));
    projector.push_data(completed(message("i", Role::Assistant, text("Hello"))));
    assert_eq!(projector.texts("assistant"), ["Hello"]);
    // Only the rest, if the beginning was streamed, also across several parts.
    projector.clear().push_data(started(message("j", Role::Assistant, Vec::new()))).delta("j", "One, t");
    let parts = ["One, ", "two, ", "three"].map(ContentPart::text).to_vec();
    projector.push_data(completed(message("j", Role::Assistant, parts)));
    assert_eq!(projector.texts("assistant"), ["One, t", "wo, ", "three"]);
}

#[test]
fn user_assistant_and_reasoning_have_their_own_channels() {
    let mut projector = TestProjector::new();
    let thought = |text| vec![ContentPart::reasoning(text, Visibility::Private)];
    projector.push_data(completed(message("u", Role::User, text("Do it"))));
    projector.push_data(started(message("r", Role::Assistant, thought("")))).delta("r", "Hm");
    projector.push_data(started(message("a", Role::Assistant, Vec::new()))).delta("a", "Yes").delta("r", ".");
    projector.push_data(completed(message("r", Role::Assistant, thought("Hm.")))).push_data(completed(message(
        "a",
        Role::Assistant,
        text("Yes"),
    )));
    assert_eq!(projector.texts("user"), ["Do it"]);
    assert_eq!(projector.texts("reasoning"), ["Hm", "."]);
    assert_eq!(projector.texts("assistant"), ["Yes"]);
    let data: Vec<Value> = projector.events.iter().filter_map(AgentWrapperEvent::data).collect();
    assert_eq!(data[0], json!({"session_id": "ses_1", "item_id": "u"}));
    assert_eq!(data[1], json!({"session_id": "ses_1", "item_id": "r", "visibility": "private"}));
    assert_eq!(data[2], json!({"session_id": "ses_1", "item_id": "a"}));
}

#[test]
fn an_interrupted_message_has_a_status_after_its_text() {
    let mut projector = TestProjector::new();
    projector.push_data(started(message("i", Role::Assistant, Vec::new()))).delta("i", "Hel");
    projector.push_data(failed(message("i", Role::Assistant, text("Hel"))));
    assert_eq!(projector.texts("assistant"), ["Hel"]);
    assert_eq!(messages(&projector), ["a message was cut off"]);
    assert_eq!(projector.last().data().unwrap()["item_id"], "i");
    assert_eq!(projector.completion().final_text(), None);
}

#[test]
fn a_message_without_text_is_a_status() {
    let mut projector = TestProjector::new();
    let image = ContentPart::Image { path: "data:SECRET".to_owned(), mime: None };
    projector.push_data(completed(message("u", Role::User, vec![image.clone()])));
    projector.push_data(completed(message(
        "r",
        Role::Assistant,
        vec![ContentPart::reasoning("", Visibility::Private)],
    )));
    assert_eq!(messages(&projector), ["a message without text"; 2]);
    // If there is text, the image is omitted.
    projector.clear().push_data(completed(message("v", Role::User, vec![ContentPart::text("look"), image])));
    assert_eq!((projector.texts("user"), projector.events.len()), (vec!["look"], 1));
}

#[test]
fn the_task_of_a_sub_agent_is_dropped_and_its_messages_are_text() {
    let mut projector = TestProjector::new();
    let under_call = |mut item: Item| {
        item.parent_id = Some("c".into());
        item
    };
    projector.push_data(completed(named_call("c", "call-1", "Task", None, "{}"))).clear();
    let task = || under_call(message("t", Role::User, text("SECRET")));
    projector
        .push_data(started(under_call(message("t", Role::User, Vec::new()))))
        .delta("t", "SECRET")
        .push_data(completed(task()));
    projector.push_data(completed(under_call(message("w", Role::Assistant, text("Done below.")))));
    assert_eq!(messages(&projector), ["a sub-agent was given its task"]);
    assert_eq!(projector.texts("assistant"), ["Done below."]);
    assert_eq!(projector.last().data().unwrap()["parent_id"], "c");
    assert!(!serde_json::to_string(&projector.events).unwrap().contains("SECRET"));
    assert_eq!(projector.completion().final_text(), None, "the message of a sub-agent is not the final text");
}

#[test]
fn text_of_systems_and_tools_is_dropped() {
    let mut projector = TestProjector::new();
    for role in [Role::System, Role::Tool] {
        projector
            .push_data(started(message("i", role.clone(), Vec::new())))
            .delta("i", "SECRET")
            .push_data(completed(message("i", role, text("SECRET"))));
    }
    let mut system = Item::new("s", ItemKind::System);
    system.content = text("SECRET");
    projector.push_data(started(system.clone())).delta("s", "SECRET").push_data(completed(system));
    assert_eq!(messages(&projector), ["a system message"; 3]);
    assert!(!serde_json::to_string(&projector.events).unwrap().contains("SECRET"));
}

#[test]
fn a_status_item_has_its_label_and_a_fixed_message() {
    let mut projector = TestProjector::new();
    let status = |label| {
        let mut item = Item::new("s", ItemKind::Status);
        item.content =
            vec![ContentPart::Status { label, detail: Some("SECRET".to_owned()) }, ContentPart::text("SECRET")];
        item
    };
    // A status item with content at its start has two events.
    projector.push_data(started(status(StatusLabel::Hook))).push_data(failed(status(StatusLabel::Hook)));
    projector
        .push_data(started(Item::new("s", ItemKind::Status)))
        .push_data(completed(status(StatusLabel::Unknown("new".into()))));
    assert_eq!(messages(&projector), ["a hook ran", "a hook ran", "a change of state"]);
    let data: Vec<_> = projector.events.iter().map(|event| event.data().unwrap()).collect();
    let labels: Vec<_> = data.iter().map(|data| (&data["label"], &data["status"])).collect();
    let (hook, new) = (json!("hook"), json!("new"));
    assert_eq!(labels, [(&hook, &json!("in_progress")), (&hook, &json!("failed")), (&new, &json!("completed"))]);
    assert!(!serde_json::to_string(&projector.events).unwrap().contains("SECRET"));
}

#[test]
fn a_request_is_a_status_with_the_name_of_the_tool() {
    let mut projector = TestProjector::new();
    projector
        .push_data(completed(call("c", "call-1", "{}")))
        .push_data(completed(named_call("d", "call-2", "Edit", None, "{}")))
        .clear();
    let mut permission = Permission::new("perm-1", "rm SECRET");
    permission.metadata = Some(from_json(json!({"call_id": "call-1", "reason": "SECRET", "native": "SECRET"})));
    projector.push_data(EventData::permission_requested(permission.clone()));
    projector.push_data(EventData::permission_resolved(permission.clone(), Decision::Approved));
    projector.push_data(EventData::permission_resolved(permission, Decision::Denied));
    let mut question = Question::new("q-1", "SECRET?", vec!["SECRET".to_owned()]);
    question.metadata = Some(from_json(json!({"call_id": "call-2", "header": "SECRET"})));
    projector.push_data(EventData::question_requested(question.clone()));
    projector.push_data(EventData::question_resolved(question.clone(), QuestionAnswer::Answered("SECRET".to_owned())));
    projector.push_data(EventData::question_resolved(question, QuestionAnswer::Rejected(Some("SECRET".to_owned()))));
    assert_eq!(
        messages(&projector),
        [
            "permission requested",
            "permission approved",
            "permission denied",
            "question requested",
            "question answered",
            "question rejected"
        ]
    );
    assert!(projector.events.iter().all(|event| event.kind() == Kind::Status && event.channel() == Some("status")));
    let names: Vec<Value> = projector.events.iter().map(|event| event.data().unwrap()["tool_name"].clone()).collect();
    assert_eq!(names, ["Bash", "Bash", "Bash", "Edit", "Edit", "Edit"]);
    assert!(!serde_json::to_string(&projector.events).unwrap().contains("SECRET"));
}

#[test]
fn a_request_without_a_call_id_is_about_the_only_pending_call() {
    let ask = |projector: &mut TestProjector| {
        projector.push_data(EventData::permission_requested(Permission::new("p", "do")));
        projector.last().data().unwrap().get("tool_name").cloned()
    };
    let mut projector = TestProjector::new();
    assert_eq!(ask(&mut projector), None);
    projector.push_data(completed(call("c", "call-1", "{}")));
    assert_eq!(ask(&mut projector), Some(json!("Bash")));
    projector.push_data(completed(named_call("d", "call-2", "Edit", None, "{}")));
    assert_eq!(ask(&mut projector), None, "there are two pending calls");
    projector.push_data(completed(result("r", "call-1", "", None, None)));
    assert_eq!(ask(&mut projector), Some(json!("Edit")));
}

#[test]
fn an_error_has_the_agents_message_and_a_synthetic_error_a_fixed_one() {
    let mut projector = TestProjector::new();
    let error = |code, message: &str| EventData::Error(ErrorEvent::new(code, message));
    projector.push_data(error(ErrorCode::Auth, "Please sign in."));
    projector.push_data(error(ErrorCode::Overloaded, " "));
    let mut inferred = event(error(ErrorCode::Connection, "SECRET"));
    inferred.origin = Origin::DAEMON;
    projector.push(&inferred);
    assert_eq!(
        messages(&projector),
        ["Please sign in.", "the model's provider has no capacity", "the connection failed"]
    );
    assert!(projector.events.iter().all(|event| event.kind() == Kind::Error && event.channel() == Some("error")));
    assert_eq!(projector.events[0].data().unwrap()["code"], "auth");
}

#[test]
fn turns_and_sessions_are_statuses_with_usage_and_duration() {
    let mut projector = TestProjector::new();
    projector
        .push_data(EventData::SessionStarted(
            SessionStarted::new().metadata(from_json::<Box<_>>(json!({"cwd": "/SECRET"}))),
        ))
        .start_turn();
    let mut end = TurnEnded::new("turn-1", TurnStatus::Completed);
    let usage = Usage::new(7, 2).model("m-1".to_owned());
    (end.usage, end.duration_ms, end.metadata) =
        (Some(usage.clone()), 30, Some(from_json(json!({"native": {"words": "SECRET"}}))));
    projector.push_data(EventData::TurnEnded(end.clone())).start_turn();
    end.usage = Some(usage.model("no model".to_owned()));
    projector.push_data(EventData::TurnEnded(end)).push_data(EventData::SessionEnded(SessionEnded::completed()));
    assert_eq!(
        messages(&projector),
        ["session started", "turn started", "turn completed", "turn started", "turn completed", "session completed"]
    );
    assert_eq!(
        projector.events[2].data().unwrap(),
        json!({"event": "turn.ended", "session_id": "ses_1", "thread_id": "thread-1", "turn_id": "turn-1", "status": "completed",
            "duration_ms": 30, "usage": {"input_tokens": 7, "output_tokens": 2, "model": "m-1"}})
    );
    assert!(!serde_json::to_string(&projector.events).unwrap().contains("SECRET"));
    let completion = projector.completion();
    assert_eq!(completion.status(), Status::Completed);
    assert_eq!(
        completion.data().unwrap(),
        json!({"session_id": "ses_1", "thread_id": "thread-1", "turns": 2,
            "usage": {"input_tokens": 14, "output_tokens": 4, "model": "m-1"}})
    );
}

#[test]
fn a_completion_has_the_last_message_of_the_last_turn() {
    let mut projector = TestProjector::new();
    projector.start_turn().push_data(completed(message("a", Role::Assistant, text("First"))));
    projector.push_data(completed(message("b", Role::Assistant, text("Second"))));
    projector.push_data(completed(message(
        "r",
        Role::Assistant,
        vec![ContentPart::reasoning("Hm", Visibility::Public)],
    )));
    projector.push_data(failed(message("c", Role::Assistant, text("cut o")))).end_turn(TurnStatus::Completed);
    assert_eq!(projector.complete("ses_1").unwrap().final_text(), Some("Second"));
    projector
        .start_turn()
        .push_data(completed(message("a", Role::Assistant, text("Third"))))
        .end_turn(TurnStatus::Completed);
    projector.start_turn().end_turn(TurnStatus::Interrupted);
    assert_eq!(projector.completion().final_text(), None);
}

/// The turns of a session.
type Turns = fn(&mut TestProjector) -> &mut TestProjector;

#[test]
fn a_completion_has_the_outcome_of_the_session() {
    let ended = |end: SessionEnded| EventData::SessionEnded(end);
    let cases: [(Turns, Option<SessionEnded>, Status); 9] = [
        (|projector| projector, Some(SessionEnded::completed()), Status::Completed),
        (|projector| projector.start_turn(), None, Status::Incomplete),
        (|projector| projector.start_turn().end_turn(TurnStatus::Completed), None, Status::Completed),
        (
            |projector| projector.start_turn().end_turn(TurnStatus::Failed),
            Some(SessionEnded::completed()),
            Status::Failed,
        ),
        (
            |projector| projector.start_turn().end_turn(TurnStatus::Interrupted),
            Some(SessionEnded::completed()),
            Status::Interrupted,
        ),
        (|projector| projector.start_turn().end_turn(TurnStatus::Completed).start_turn(), None, Status::Incomplete),
        (
            |projector| {
                projector.start_turn().end_turn(TurnStatus::Failed).start_turn().end_turn(TurnStatus::Completed)
            },
            None,
            Status::Completed,
        ),
        (
            |projector| projector.start_turn().end_turn(TurnStatus::Completed),
            Some(SessionEnded::error("e", Some(3), None)),
            Status::Failed,
        ),
        (
            |projector| projector.start_turn().end_turn(TurnStatus::Interrupted),
            Some(SessionEnded::terminated()),
            Status::Terminated,
        ),
    ];
    for (index, (turns, end, expected)) in cases.into_iter().enumerate() {
        let mut projector = TestProjector::new();
        projector.push_data(EventData::SessionStarted(SessionStarted::default()));
        turns(&mut projector);
        let code = end.as_ref().and_then(|end| end.exit_code);
        if let Some(end) = end {
            projector.push_data(ended(end));
        }
        let completion = projector.completion();
        assert_eq!(completion.status(), expected, "case {index}");
        assert_eq!(completion.data().unwrap().get("exit_code"), code.map(Value::from).as_ref(), "case {index}");
    }
}

#[test]
fn sessions_of_one_stream_are_projected_separately() {
    let mut projector = TestProjector::new();
    let event_of = |session: &str, data| {
        let mut event = event(data);
        event.session_id = session.into();
        event.native_session_id = Some(format!("native-{session}").into());
        event
    };
    // The same item ids in both, as two streams have them.
    for (session, role) in [("one", Role::Assistant), ("two", Role::User)] {
        projector.push(&event_of(session, started(message("i", role, Vec::new()))));
    }
    projector
        .push(&event_of("two", crate::test_projector::delta("i", "in")))
        .push(&event_of("one", crate::test_projector::delta("i", "out")));
    projector.push(&event_of("one", completed(call("c", "call-1", "{}"))));
    projector.push(&event_of("two", completed(result("r", "call-1", "", None, None))));
    assert_eq!((projector.texts("assistant"), projector.texts("user")), (vec!["out"], vec!["in"]));
    let tools = projector.tools();
    assert_eq!((&tools[0]["thread_id"], &tools[1]["thread_id"]), (&json!("native-one"), &json!("native-two")));
    assert_eq!(tools[1]["tool_name"], Value::Null, "the call belongs to another session");
    let completed =
        |completion: interlingua_envelope::AgentWrapperCompletion| completion.data().unwrap()["session_id"].clone();
    assert_eq!(completed(projector.complete("two").unwrap()), "two");
    assert!(projector.complete("two").is_none());
    assert_eq!(completed(projector.completion()), "one");
}
