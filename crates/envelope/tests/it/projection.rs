//! What becomes of messages, requests, turns and sessions.

use interlingua_envelope::{AgentWrapperCompletionStatus as Status, AgentWrapperEvent, AgentWrapperEventKind as Kind};
use interlingua_schema::{
    ContentPart, Decision, ErrorCode, ErrorEvent, EventData, Item, ItemKind, Origin, Permission, Question,
    QuestionAnswer, Role, SessionEnded, SessionStarted, StatusLabel, TurnEnded, TurnStatus, Usage, Visibility,
};
use serde_json::{Value, json};

use crate::events::{Play, call, completed, event, failed, message, named_call, result, started};

/// Metadata with these keys.
fn from_json<T: serde::de::DeserializeOwned>(metadata: Value) -> T {
    serde_json::from_value(metadata).unwrap()
}

fn text(text: &str) -> Vec<ContentPart> {
    vec![ContentPart::text(text)]
}

fn messages(play: &Play) -> Vec<&str> {
    play.events.iter().filter_map(AgentWrapperEvent::message).collect()
}

#[test]
fn what_was_streamed_is_not_repeated() {
    let mut play = Play::new();
    play.say(started(message("i", Role::Assistant, Vec::new()))).delta("i", "Hel").delta("i", "lo");
    play.say(completed(message("i", Role::Assistant, text("Hello"))));
    assert_eq!(play.texts("assistant"), ["Hel", "lo"]);
    assert_eq!(play.events.len(), 2);
}

#[test]
fn what_only_the_completed_item_has_is_said() {
    let mut play = Play::new();
    play.say(started(message("i", Role::Assistant, Vec::new())));
    play.say(completed(message("i", Role::Assistant, text("Hello"))));
    assert_eq!(play.texts("assistant"), ["Hello"]);
    // Also what it has beyond what was streamed, over several parts.
    play.skip().say(started(message("j", Role::Assistant, Vec::new()))).delta("j", "One, t");
    let parts = ["One, ", "two, ", "three"].map(ContentPart::text).to_vec();
    play.say(completed(message("j", Role::Assistant, parts)));
    assert_eq!(play.texts("assistant"), ["One, t", "wo, ", "three"]);
}

#[test]
fn each_speaker_has_a_channel() {
    let mut play = Play::new();
    let thought = |text| vec![ContentPart::reasoning(text, Visibility::Private)];
    play.say(completed(message("u", Role::User, text("Do it"))));
    play.say(started(message("r", Role::Assistant, thought("")))).delta("r", "Hm");
    play.say(started(message("a", Role::Assistant, Vec::new()))).delta("a", "Yes").delta("r", ".");
    play.say(completed(message("r", Role::Assistant, thought("Hm.")))).say(completed(message(
        "a",
        Role::Assistant,
        text("Yes"),
    )));
    assert_eq!(play.texts("user"), ["Do it"]);
    assert_eq!(play.texts("reasoning"), ["Hm", "."]);
    assert_eq!(play.texts("assistant"), ["Yes"]);
    let data: Vec<Value> = play.events.iter().filter_map(AgentWrapperEvent::data).collect();
    assert_eq!(data[0], json!({"session_id": "ses_1", "item_id": "u"}));
    assert_eq!(data[1], json!({"session_id": "ses_1", "item_id": "r", "visibility": "private"}));
    assert_eq!(data[2], json!({"session_id": "ses_1", "item_id": "a"}));
}

#[test]
fn a_message_that_was_cut_off_says_so_after_its_words() {
    let mut play = Play::new();
    play.say(started(message("i", Role::Assistant, Vec::new()))).delta("i", "Hel");
    play.say(failed(message("i", Role::Assistant, text("Hel"))));
    assert_eq!(play.texts("assistant"), ["Hel"]);
    assert_eq!(messages(&play), ["a message was cut off"]);
    assert_eq!(play.last().data().unwrap()["item_id"], "i");
    assert_eq!(play.completion().final_text(), None);
}

#[test]
fn a_message_without_words_is_a_status() {
    let mut play = Play::new();
    let image = ContentPart::Image { path: "data:SECRET".to_owned(), mime: None };
    play.say(completed(message("u", Role::User, vec![image.clone()])));
    play.say(completed(message("r", Role::Assistant, vec![ContentPart::reasoning("", Visibility::Private)])));
    assert_eq!(messages(&play), ["a message without text"; 2]);
    // With words, the image is simply left out.
    play.skip().say(completed(message("v", Role::User, vec![ContentPart::text("look"), image])));
    assert_eq!((play.texts("user"), play.events.len()), (vec!["look"], 1));
}

#[test]
fn the_task_of_a_sub_agent_is_a_tools_input_and_its_words_are_words() {
    let mut play = Play::new();
    let under_call = |mut item: Item| {
        item.parent_id = Some("c".into());
        item
    };
    play.say(completed(named_call("c", "call-1", "Task", None, "{}"))).skip();
    let task = || under_call(message("t", Role::User, text("SECRET")));
    play.say(started(under_call(message("t", Role::User, Vec::new())))).delta("t", "SECRET").say(completed(task()));
    play.say(completed(under_call(message("w", Role::Assistant, text("Done below.")))));
    assert_eq!(messages(&play), ["a sub-agent was given its task"]);
    assert_eq!(play.texts("assistant"), ["Done below."]);
    assert_eq!(play.last().data().unwrap()["parent_id"], "c");
    assert!(!serde_json::to_string(&play.events).unwrap().contains("SECRET"));
    assert_eq!(play.completion().final_text(), None, "a sub-agent's words are not the agent's answer");
}

#[test]
fn words_of_systems_and_tools_stay_behind() {
    let mut play = Play::new();
    for role in [Role::System, Role::Tool] {
        play.say(started(message("i", role.clone(), Vec::new()))).delta("i", "SECRET").say(completed(message(
            "i",
            role,
            text("SECRET"),
        )));
    }
    let mut system = Item::new("s", ItemKind::System);
    system.content = text("SECRET");
    play.say(started(system.clone())).delta("s", "SECRET").say(completed(system));
    assert_eq!(messages(&play), ["a system message"; 3]);
    assert!(!serde_json::to_string(&play.events).unwrap().contains("SECRET"));
}

#[test]
fn a_status_has_its_label_and_words_of_ours() {
    let mut play = Play::new();
    let status = |label| {
        let mut item = Item::new("s", ItemKind::Status);
        item.content =
            vec![ContentPart::Status { label, detail: Some("SECRET".to_owned()) }, ContentPart::text("SECRET")];
        item
    };
    // One that lasts is told of when it begins and when it is over.
    play.say(started(status(StatusLabel::Hook))).say(failed(status(StatusLabel::Hook)));
    play.say(started(Item::new("s", ItemKind::Status))).say(completed(status(StatusLabel::Unknown("new".into()))));
    assert_eq!(messages(&play), ["a hook ran", "a hook ran", "a change of state"]);
    let told: Vec<_> = play.events.iter().map(|event| event.data().unwrap()).collect();
    let told: Vec<_> = told.iter().map(|data| (&data["label"], &data["status"])).collect();
    let (hook, new) = (json!("hook"), json!("new"));
    assert_eq!(told, [(&hook, &json!("in_progress")), (&hook, &json!("failed")), (&new, &json!("completed"))]);
    assert!(!serde_json::to_string(&play.events).unwrap().contains("SECRET"));
}

#[test]
fn a_request_is_a_status_with_the_tools_name() {
    let mut play = Play::new();
    play.say(completed(call("c", "call-1", "{}"))).say(completed(named_call("d", "call-2", "Edit", None, "{}"))).skip();
    let mut permission = Permission::new("perm-1", "rm SECRET");
    permission.metadata = Some(from_json(json!({"call_id": "call-1", "reason": "SECRET", "native": "SECRET"})));
    play.say(EventData::permission_requested(permission.clone()));
    play.say(EventData::permission_resolved(permission.clone(), Decision::Approved));
    play.say(EventData::permission_resolved(permission, Decision::Denied));
    let mut question = Question::new("q-1", "SECRET?", vec!["SECRET".to_owned()]);
    question.metadata = Some(from_json(json!({"call_id": "call-2", "header": "SECRET"})));
    play.say(EventData::question_requested(question.clone()));
    play.say(EventData::question_resolved(question.clone(), QuestionAnswer::Answered("SECRET".to_owned())));
    play.say(EventData::question_resolved(question, QuestionAnswer::Rejected(Some("SECRET".to_owned()))));
    assert_eq!(
        messages(&play),
        [
            "permission requested",
            "permission approved",
            "permission denied",
            "question requested",
            "question answered",
            "question rejected"
        ]
    );
    assert!(play.events.iter().all(|event| event.kind() == Kind::Status && event.channel() == Some("status")));
    let names: Vec<Value> = play.events.iter().map(|event| event.data().unwrap()["tool_name"].clone()).collect();
    assert_eq!(names, ["Bash", "Bash", "Bash", "Edit", "Edit", "Edit"]);
    assert!(!serde_json::to_string(&play.events).unwrap().contains("SECRET"));
}

#[test]
fn a_request_that_names_no_call_is_about_the_only_one_that_waits() {
    let ask = |play: &mut Play| {
        play.say(EventData::permission_requested(Permission::new("p", "do")));
        play.last().data().unwrap().get("tool_name").cloned()
    };
    let mut play = Play::new();
    assert_eq!(ask(&mut play), None);
    play.say(completed(call("c", "call-1", "{}")));
    assert_eq!(ask(&mut play), Some(json!("Bash")));
    play.say(completed(named_call("d", "call-2", "Edit", None, "{}")));
    assert_eq!(ask(&mut play), None, "it could be either");
    play.say(completed(result("r", "call-1", "", None, None)));
    assert_eq!(ask(&mut play), Some(json!("Edit")));
}

#[test]
fn an_error_has_the_agents_words_and_what_is_inferred_has_ours() {
    let mut play = Play::new();
    let error = |code, message: &str| EventData::Error(ErrorEvent::new(code, message));
    play.say(error(ErrorCode::Auth, "Please sign in."));
    play.say(error(ErrorCode::Overloaded, " "));
    let mut inferred = event(error(ErrorCode::Connection, "SECRET"));
    inferred.origin = Origin::DAEMON;
    play.push(&inferred);
    assert_eq!(messages(&play), ["Please sign in.", "the model's provider has no capacity", "the connection failed"]);
    assert!(play.events.iter().all(|event| event.kind() == Kind::Error && event.channel() == Some("error")));
    assert_eq!(play.events[0].data().unwrap()["code"], "auth");
}

#[test]
fn turns_and_sessions_are_told_with_their_figures() {
    let mut play = Play::new();
    play.say(EventData::SessionStarted(SessionStarted::new().metadata(from_json::<Box<_>>(json!({"cwd": "/SECRET"})))))
        .turn();
    let mut end = TurnEnded::new("turn-1", TurnStatus::Completed);
    let usage = Usage::new(7, 2).model("m-1".to_owned());
    (end.usage, end.duration_ms, end.metadata) =
        (Some(usage.clone()), 30, Some(from_json(json!({"native": {"words": "SECRET"}}))));
    play.say(EventData::TurnEnded(end.clone())).turn();
    end.usage = Some(usage.model("no model".to_owned()));
    play.say(EventData::TurnEnded(end)).say(EventData::SessionEnded(SessionEnded::completed()));
    assert_eq!(
        messages(&play),
        ["session started", "turn started", "turn completed", "turn started", "turn completed", "session completed"]
    );
    assert_eq!(
        play.events[2].data().unwrap(),
        json!({"event": "turn.ended", "session_id": "ses_1", "thread_id": "thread-1", "turn_id": "turn-1", "status": "completed",
            "duration_ms": 30, "usage": {"input_tokens": 7, "output_tokens": 2, "model": "m-1"}})
    );
    assert!(!serde_json::to_string(&play.events).unwrap().contains("SECRET"));
    let completion = play.completion();
    assert_eq!(completion.status(), Status::Completed);
    assert_eq!(
        completion.data().unwrap(),
        json!({"session_id": "ses_1", "thread_id": "thread-1", "turns": 2,
            "usage": {"input_tokens": 14, "output_tokens": 4, "model": "m-1"}})
    );
}

#[test]
fn a_completion_has_the_last_answer_of_the_last_turn() {
    let mut play = Play::new();
    play.turn().say(completed(message("a", Role::Assistant, text("First"))));
    play.say(completed(message("b", Role::Assistant, text("Second"))));
    play.say(completed(message("r", Role::Assistant, vec![ContentPart::reasoning("Hm", Visibility::Public)])));
    play.say(failed(message("c", Role::Assistant, text("cut o")))).turn_ended(TurnStatus::Completed);
    assert_eq!(play.complete("ses_1").unwrap().final_text(), Some("Second"));
    play.turn().say(completed(message("a", Role::Assistant, text("Third")))).turn_ended(TurnStatus::Completed);
    play.turn().turn_ended(TurnStatus::Interrupted);
    assert_eq!(play.completion().final_text(), None);
}

/// What happens in a session.
type Story = fn(&mut Play) -> &mut Play;

#[test]
fn a_completion_tells_how_it_went() {
    let ended = |end: SessionEnded| EventData::SessionEnded(end);
    let stories: [(Story, Option<SessionEnded>, Status); 9] = [
        (|play| play, Some(SessionEnded::completed()), Status::Completed),
        (|play| play.turn(), None, Status::Incomplete),
        (|play| play.turn().turn_ended(TurnStatus::Completed), None, Status::Completed),
        (|play| play.turn().turn_ended(TurnStatus::Failed), Some(SessionEnded::completed()), Status::Failed),
        (|play| play.turn().turn_ended(TurnStatus::Interrupted), Some(SessionEnded::completed()), Status::Interrupted),
        (|play| play.turn().turn_ended(TurnStatus::Completed).turn(), None, Status::Incomplete),
        (
            |play| play.turn().turn_ended(TurnStatus::Failed).turn().turn_ended(TurnStatus::Completed),
            None,
            Status::Completed,
        ),
        (
            |play| play.turn().turn_ended(TurnStatus::Completed),
            Some(SessionEnded::error("e", Some(3), None)),
            Status::Failed,
        ),
        (|play| play.turn().turn_ended(TurnStatus::Interrupted), Some(SessionEnded::terminated()), Status::Terminated),
    ];
    for (index, (story, end, expected)) in stories.into_iter().enumerate() {
        let mut play = Play::new();
        play.say(EventData::SessionStarted(SessionStarted::default()));
        story(&mut play);
        let code = end.as_ref().and_then(|end| end.exit_code);
        if let Some(end) = end {
            play.say(ended(end));
        }
        let completion = play.completion();
        assert_eq!(completion.status(), expected, "story {index}");
        assert_eq!(completion.data().unwrap().get("exit_code"), code.map(Value::from).as_ref(), "story {index}");
    }
}

#[test]
fn sessions_in_one_stream_are_kept_apart() {
    let mut play = Play::new();
    let of = |session: &str, data| {
        let mut event = event(data);
        event.session_id = session.into();
        event.native_session_id = Some(format!("native-{session}").into());
        event
    };
    // The same item ids in both, as two streams have them.
    for (session, role) in [("one", Role::Assistant), ("two", Role::User)] {
        play.push(&of(session, started(message("i", role, Vec::new()))));
    }
    play.push(&of("two", crate::events::delta("i", "in"))).push(&of("one", crate::events::delta("i", "out")));
    play.push(&of("one", completed(call("c", "call-1", "{}"))));
    play.push(&of("two", completed(result("r", "call-1", "", None, None))));
    assert_eq!((play.texts("assistant"), play.texts("user")), (vec!["out"], vec!["in"]));
    let tools = play.tools();
    assert_eq!((&tools[0]["thread_id"], &tools[1]["thread_id"]), (&json!("native-one"), &json!("native-two")));
    assert_eq!(tools[1]["tool_name"], Value::Null, "the call is another session's");
    let completed =
        |completion: interlingua_envelope::AgentWrapperCompletion| completion.data().unwrap()["session_id"].clone();
    assert_eq!(completed(play.complete("two").unwrap()), "two");
    assert!(play.complete("two").is_none());
    assert_eq!(completed(play.completion()), "one");
}
