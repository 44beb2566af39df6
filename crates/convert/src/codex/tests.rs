//! What the converter promises, line by line.

#![expect(clippy::needless_pass_by_value, reason = "lines are written where they are used")]

use interlingua_native::Union as _;
use interlingua_native::codex::{ServerNotification, ServerRequest, ThreadItem, exec};
use interlingua_schema::{Checker, ContentPart, EventData, ItemKind, ItemStatus, Role, TurnStatus, UniversalEvent};
use serde_json::{Value, json};

use super::CodexConverter;
use crate::{End, Input, Launch, Options, Stream, Tally};

/// A conversation under test. Whatever it comes to, no rule may be broken.
struct Talk {
    stream: Stream<CodexConverter>,
    events: Vec<UniversalEvent>,
}

impl Talk {
    fn new() -> Self {
        Self { stream: Stream::new(CodexConverter::default(), Options::default()), events: Vec::new() }
    }

    /// A thread `t` has been started, and turn `1` in it with a message of the user's.
    fn in_turn() -> Self {
        let mut talk = Self::new();
        talk.host(json!({"id": 1, "method": "initialize", "params": {}}));
        talk.agent(json!({"id": 1, "result": {"userAgent": "x"}}));
        talk.host(json!({"id": 2, "method": "thread/start", "params": {}}));
        talk.agent(json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "m"}}));
        talk.prompt(3, "1", "hello");
        talk
    }

    fn prompt(&mut self, id: u64, turn: &str, text: &str) {
        let input = json!([{"type": "text", "text": text}]);
        self.host(json!({"id": id, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
        self.agent(json!({"id": id, "result": {"turn": {"id": turn}}}));
        self.tell("turn/started", json!({"turn": {"id": turn}}));
        self.begin(json!({"type": "userMessage", "id": format!("u{id}"), "content": input}));
    }

    fn push(&mut self, input: Input<'_>) {
        self.stream.push(None, input, &mut self.events);
    }

    fn host(&mut self, line: Value) {
        self.push(Input::Sent(&line.to_string()));
    }

    fn agent(&mut self, line: Value) {
        self.push(Input::Received(&line.to_string()));
    }

    /// A notification of thread `t`, unless it names another.
    fn tell(&mut self, method: &str, mut params: Value) {
        if let Some(params) = params.as_object_mut().filter(|params| !params.contains_key("threadId")) {
            params.insert("threadId".to_owned(), "t".into());
        }
        self.agent(json!({"method": method, "params": params}));
    }

    fn begin(&mut self, item: Value) {
        self.tell("item/started", json!({"item": item, "turnId": "1"}));
    }

    fn end(&mut self, item: Value) {
        self.tell("item/completed", json!({"item": item, "turnId": "1"}));
    }

    fn end_turn(&mut self, turn: &str, status: &str) {
        self.tell("turn/completed", json!({"turn": {"id": turn, "status": status}}));
    }

    /// The events of all sessions, after every rule was checked.
    fn events(&mut self) -> &[UniversalEvent] {
        let mut sessions: Vec<(String, Checker)> = Vec::new();
        for event in &self.events {
            let id = event.session_id.to_string();
            if !sessions.iter().any(|(known, _)| *known == id) {
                sessions.push((id.clone(), Checker::new()));
            }
            let checker = &mut sessions.iter_mut().find(|(known, _)| *known == id).unwrap().1;
            assert_eq!(checker.push(event), [], "{event:?}");
        }
        &self.events
    }

    fn data(&mut self) -> Vec<Value> {
        self.events().iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    fn of_type(&mut self, kind: &str) -> Vec<Value> {
        self.data().into_iter().filter(|event| event["type"] == kind).map(|event| event["data"].clone()).collect()
    }

    /// What was completed: kind, role and status of each item, and its texts.
    fn items(&mut self) -> Vec<(ItemKind, Option<Role>, ItemStatus, String)> {
        let done = self.events().iter().filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        });
        done.map(|item| {
            let texts = item.content.iter().filter_map(|part| match part {
                ContentPart::ToolResult { output, .. } => Some(output.clone()),
                ContentPart::ToolCall { name, .. } => Some(name.clone()),
                ContentPart::Status { label, detail } => {
                    let label = serde_json::to_value(label).unwrap();
                    Some(format!("{} {}", label.as_str().unwrap(), detail.as_deref().unwrap_or_default()))
                }
                part => part.streamed_text().map(str::to_owned),
            });
            (item.kind, item.role, item.status, texts.collect::<Vec<_>>().join("|"))
        })
        .collect()
    }

    fn texts(&mut self) -> Vec<String> {
        self.items().into_iter().map(|(.., text)| text).collect()
    }

    fn tally(&self) -> &Tally {
        self.stream.tally()
    }
}

fn command(status: &str, more: Value) -> Value {
    let mut item = json!({"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'rm a'", "status": status});
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    item
}

#[test]
fn every_notification_of_the_schema_is_known() {
    for (tag, _) in ServerNotification::TAGS {
        let mut talk = Talk::in_turn();
        talk.tell(tag, json!({}));
        talk.events();
        assert_eq!((talk.tally().unaccounted, talk.tally().unparsed), (0, 0), "{tag}");
    }
}

#[test]
fn every_request_of_the_schema_is_known() {
    for (tag, _) in ServerRequest::TAGS {
        let mut talk = Talk::in_turn();
        talk.agent(json!({"method": tag, "id": 0, "params": {"threadId": "t", "mode": "form"}}));
        talk.host(json!({"id": 0, "result": {}}));
        talk.end_turn("1", "completed");
        talk.events();
        assert_eq!((talk.tally().unaccounted, talk.tally().unparsed), (0, 0), "{tag}");
    }
}

#[test]
fn every_item_of_the_schema_is_known() {
    for (tag, _) in ThreadItem::TAGS {
        for only_end in [false, true] {
            let mut talk = Talk::in_turn();
            if !only_end {
                talk.begin(json!({"type": tag, "id": "i"}));
            }
            talk.end(json!({"type": tag, "id": "i"}));
            talk.end_turn("1", "completed");
            talk.events();
            assert_eq!((talk.tally().unaccounted, talk.tally().unparsed), (0, 0), "{tag}");
        }
    }
}

#[test]
fn every_event_and_item_of_a_one_shot_run_is_known() {
    let events = exec::ThreadEvent::TAGS.iter().map(|(tag, _)| json!({"type": tag}));
    let items = exec::ThreadItem::TAGS.iter().flat_map(|(tag, _)| {
        ["item.started", "item.updated", "item.completed"]
            .map(|event| json!({"type": event, "item": {"type": tag, "id": "i"}}))
    });
    for line in events.chain(items) {
        let mut talk = Talk::new();
        talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
        talk.agent(line.clone());
        talk.events();
        assert_eq!((talk.tally().unaccounted, talk.tally().unparsed), (0, 0), "{line}");
    }
}

#[test]
fn what_the_schema_does_not_know_is_unparsed_and_the_stream_goes_on() {
    let mut talk = Talk::in_turn();
    talk.tell("thread/somethingNew", json!({}));
    talk.begin(json!({"type": "newItem", "id": "n"}));
    talk.push(Input::Received("not json at all"));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "fine"}));
    assert_eq!(talk.of_type("agent.unparsed").len(), 3);
    assert_eq!(talk.texts().last().unwrap(), "fine");
}

#[test]
fn a_denied_command_is_failed() {
    for (answer, status) in [
        (json!({"result": {"decision": "accept"}}), "approved"),
        (json!({"result": {"decision": "acceptForSession"}}), "approved"),
        (
            json!({"result": {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}}}}),
            "approved",
        ),
        (json!({"result": {"decision": "decline"}}), "denied"),
        (json!({"result": {"decision": "cancel"}}), "denied"),
        (json!({"result": {"decision": "sureWhyNot"}}), "denied"),
        (json!({"result": {}}), "denied"),
        (json!({"error": {"code": -1, "message": "no user here"}}), "denied"),
    ] {
        let mut talk = Talk::in_turn();
        talk.begin(command("inProgress", json!({})));
        talk.agent(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "turnId": "1", "itemId": "c"}}));
        let mut answer = answer.clone();
        answer.as_object_mut().unwrap().insert("id".to_owned(), 0.into());
        talk.host(answer);
        talk.tell("serverRequest/resolved", json!({"requestId": 0}));
        talk.end(command(if status == "denied" { "declined" } else { "completed" }, json!({})));
        talk.end_turn("1", "completed");
        // The request itself may leave the command to the item.
        assert_eq!(talk.of_type("permission.requested")[0]["action"], "rm a");
        assert_eq!(talk.of_type("permission.resolved")[0]["status"], status);
        let result = talk.items().pop().unwrap();
        assert_eq!(result.2 == ItemStatus::Failed, status == "denied");
    }
}

#[test]
fn a_request_that_nobody_answered_is_withdrawn() {
    let mut talk = Talk::in_turn();
    talk.agent(
        json!({"method": "item/fileChange/requestApproval", "id": 0, "params": {"threadId": "t", "itemId": "f"}}),
    );
    talk.tell("serverRequest/resolved", json!({"requestId": 0}));
    talk.host(json!({"id": 0, "result": {"decision": "accept"}}));
    let resolved = talk.of_type("permission.resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(resolved[0]["status"], "denied");
}

#[test]
fn ids_of_both_directions_are_kept_apart() {
    let mut talk = Talk::in_turn();
    talk.agent(json!({"method": "execCommandApproval", "id": 4, "params": {"conversationId": "t", "command": ["ls"]}}));
    talk.host(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
    talk.agent(json!({"id": 4, "result": {}}));
    assert_eq!(talk.of_type("permission.resolved").len(), 0);
    talk.host(json!({"id": 4, "result": {"decision": "approved"}}));
    assert_eq!(talk.of_type("permission.resolved")[0]["status"], "approved");
}

#[test]
fn permissions_that_grant_nothing_are_denied() {
    for (granted, status) in [(json!({}), "denied"), (json!({"network": {"enabled": true}}), "approved")] {
        let mut talk = Talk::in_turn();
        talk.agent(
            json!({"method": "item/permissions/requestApproval", "id": 0, "params": {"threadId": "t", "itemId": "p"}}),
        );
        talk.host(json!({"id": 0, "result": {"permissions": granted, "scope": "session"}}));
        assert_eq!(talk.of_type("permission.resolved")[0]["status"], status);
    }
}

#[test]
fn several_questions_are_answered_one_by_one() {
    let mut talk = Talk::in_turn();
    let questions = json!([{"id": "a", "question": "A?", "options": [{"label": "x", "description": "d"}]}, {"id": "b", "question": "B?"}]);
    talk.agent(json!({"method": "item/tool/requestUserInput", "id": 0,
        "params": {"threadId": "t", "itemId": "q", "questions": questions}}));
    talk.host(json!({"id": 0, "result": {"answers": {"a": {"answers": ["x", "y"]}}}}));
    let resolved = talk.of_type("question.resolved");
    assert_eq!((&resolved[0]["question_id"], &resolved[0]["response"]), (&json!("0:0"), &json!("x, y")));
    assert_eq!(resolved[1]["status"], "rejected");
}

#[test]
fn a_tool_of_the_hosts_that_is_no_item_is_told_by_its_request() {
    let mut talk = Talk::in_turn();
    talk.agent(json!({"method": "item/tool/call", "id": 0,
        "params": {"threadId": "t", "callId": "d", "tool": "look", "arguments": {"a": 1}}}));
    talk.host(json!({"id": 0, "result": {"success": true, "contentItems": [{"type": "inputText", "text": "seen"}]}}));
    assert_eq!(talk.texts(), ["hello", "look", "seen"]);
}

#[test]
fn a_refused_message_was_never_said() {
    let mut talk = Talk::in_turn();
    let input = json!([{"type": "text", "text": "no"}]);
    talk.host(json!({"id": 4, "method": "turn/steer", "params": {"threadId": "t", "input": input}}));
    talk.agent(json!({"id": 4, "error": {"code": -32600, "message": "expected another turn"}}));
    talk.end_turn("1", "completed");
    assert_eq!(talk.texts(), ["hello"]);
    assert_eq!(talk.of_type("error")[0]["code"], "invalid_request");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "completed");
}

#[test]
fn a_message_into_a_running_turn_belongs_to_it_whatever_is_announced() {
    let mut talk = Talk::in_turn();
    let input = json!([{"type": "text", "text": "more"}]);
    talk.host(json!({"id": 4, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
    talk.agent(json!({"id": 4, "result": {"turn": {"id": "2"}}}));
    talk.tell("turn/started", json!({"turn": {"id": "2"}}));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "done"}));
    talk.end_turn("1", "completed");
    assert_eq!(talk.texts(), ["hello", "done", "more"]);
    assert_eq!(talk.of_type("turn.ended").len(), 1);
}

#[test]
fn what_a_retry_takes_back_is_failed() {
    let mut talk = Talk::in_turn();
    talk.begin(json!({"type": "agentMessage", "id": "m1", "text": ""}));
    talk.tell("item/agentMessage/delta", json!({"itemId": "m1", "delta": "par"}));
    talk.tell("error", json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}}));
    talk.end(json!({"type": "agentMessage", "id": "m2", "text": "whole"}));
    talk.end_turn("1", "completed");
    let items = talk.items();
    assert_eq!((items[1].2, items[1].3.as_str()), (ItemStatus::Failed, "par"));
    assert_eq!(items[2].3, "retry Reconnecting... 1/2");
    assert_eq!((items[3].2, items[3].3.as_str()), (ItemStatus::Completed, "whole"));
    assert!(talk.of_type("error").is_empty());
}

#[test]
fn an_error_is_told_once_and_fails_the_turn() {
    let mut talk = Talk::in_turn();
    let error = json!({"message": "no room", "codexErrorInfo": "contextWindowExceeded"});
    talk.tell("error", json!({"willRetry": false, "error": error}));
    talk.tell("turn/completed", json!({"turn": {"id": "1", "status": "failed", "error": error}}));
    assert_eq!(talk.of_type("error").len(), 1);
    assert_eq!(talk.of_type("error")[0]["code"], "context_overflow");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
}

#[test]
fn summary_and_raw_reasoning_are_two_messages() {
    let mut talk = Talk::in_turn();
    talk.begin(json!({"type": "reasoning", "id": "r"}));
    for (index, delta) in [(0, "one"), (1, "tw"), (1, "o")] {
        talk.tell("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": index, "delta": delta}));
    }
    talk.tell("item/reasoning/textDelta", json!({"itemId": "r", "contentIndex": 0, "delta": "raw"}));
    talk.end(json!({"type": "reasoning", "id": "r", "summary": ["one", "two"], "content": ["raw"]}));
    talk.end(json!({"type": "reasoning", "id": "hidden", "summary": [], "content": []}));
    let parts: Vec<Value> =
        talk.of_type("item.completed").into_iter().map(|data| data["item"]["content"][0].clone()).collect();
    assert_eq!(parts[1], json!({"type": "reasoning", "text": "one\n\ntwo", "visibility": "public"}));
    assert_eq!(parts[2], json!({"type": "reasoning", "text": "raw", "visibility": "private"}));
    assert_eq!(parts[3], json!({"type": "reasoning", "text": "", "visibility": "private"}));
}

#[test]
fn a_thread_that_a_call_starts_is_a_sub_agent() {
    let mut talk = Talk::in_turn();
    let spawn = |status: &str, children: Value| {
        json!({"type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent", "status": status, "prompt": "count",
            "receiverThreadIds": children})
    };
    talk.begin(spawn("inProgress", json!([])));
    talk.tell("warning", json!({"threadId": "child", "message": "hm"}));
    talk.end(spawn("completed", json!(["child"])));
    talk.tell("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
    let said = json!({"type": "userMessage", "id": "cu", "content": [{"type": "text", "text": "count"}]});
    talk.tell("item/started", json!({"threadId": "child", "item": said}));
    talk.tell(
        "item/completed",
        json!({"threadId": "child", "item": {"type": "agentMessage", "id": "cm", "text": "3"}}),
    );
    talk.tell("turn/completed", json!({"threadId": "child", "turn": {"id": "c1", "status": "completed"}}));
    talk.end_turn("1", "completed");
    assert_eq!(talk.of_type("session.started").len(), 1);
    assert_eq!(talk.of_type("turn.started").len(), 1);
    let done = talk.of_type("item.completed");
    let call = done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["item_id"].clone();
    let below: Vec<&Value> = done.iter().filter(|data| data["item"]["parent_id"] == call).collect();
    assert_eq!(below.len(), 3, "the warning, the prompt and the answer");
}

#[test]
fn two_threads_are_two_sessions() {
    let mut talk = Talk::in_turn();
    talk.host(json!({"id": 9, "method": "thread/start", "params": {}}));
    talk.agent(json!({"id": 9, "result": {"thread": {"id": "other"}}}));
    talk.tell("thread/started", json!({"thread": {"id": "other"}}));
    assert_eq!(talk.of_type("session.started").len(), 2);
}

#[test]
fn a_second_process_closes_what_the_first_left_open() {
    let mut talk = Talk::in_turn();
    talk.begin(json!({"type": "agentMessage", "id": "m", "text": ""}));
    talk.host(json!({"id": 20, "method": "initialize", "params": {}}));
    talk.agent(json!({"id": 20, "error": {"code": -32600, "message": "Already initialized"}}));
    assert!(talk.of_type("turn.ended").is_empty());
    talk.host(json!({"id": 1, "method": "initialize", "params": {}}));
    talk.agent(json!({"id": 1, "result": {"userAgent": "x"}}));
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
    talk.host(json!({"id": 2, "method": "thread/resume", "params": {"threadId": "t"}}));
    let old = json!({"type": "agentMessage", "id": "m", "text": "old"});
    talk.agent(json!({"id": 2, "result": {"thread": {"id": "t", "turns": [{"id": "1", "items": [old]}]}}}));
    assert_eq!(talk.of_type("session.started").len(), 1);
    assert!(!talk.texts().contains(&"old".to_owned()));
}

#[test]
fn a_prompt_that_was_sent_to_a_dying_agent_is_shown() {
    let mut talk = Talk::in_turn();
    talk.end_turn("1", "completed");
    let input = json!([{"type": "text", "text": "are you there"}]);
    talk.host(json!({"id": 4, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
    talk.push(Input::Exit { code: Some(1) });
    assert_eq!(talk.texts().last().unwrap(), "are you there");
    assert_eq!(talk.of_type("turn.ended").last().unwrap()["status"], "failed");
}

#[test]
fn what_is_said_twice_is_heard_once() {
    let mut talk = Talk::in_turn();
    let event = |name: &str, msg: Value| json!({"method": format!("codex/event/{name}"), "params": {"id": "0", "msg": msg, "conversationId": "t"}});
    talk.agent(event("agent_message", json!({"type": "agent_message", "message": "hi"})));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "hi"}));
    talk.agent(event("warning", json!({"type": "warning", "message": "careful"})));
    assert_eq!(talk.texts(), ["hello", "hi", "notice careful"]);
    assert_eq!(talk.tally().unparsed, 0);
}

#[test]
fn a_command_that_ends_after_its_turn_keeps_its_result() {
    let mut talk = Talk::in_turn();
    talk.begin(command("inProgress", json!({})));
    talk.end_turn("1", "completed");
    talk.end(command("failed", json!({"exitCode": -1, "aggregatedOutput": "late"})));
    let (kind, _, status, text) = talk.items().pop().unwrap();
    assert_eq!((kind, status, text.as_str()), (ItemKind::ToolResult, ItemStatus::Failed, "late"));
}

#[test]
fn a_turn_uses_its_own_tokens() {
    let mut talk = Talk::in_turn();
    let used = |total: u64, last: u64| {
        let figures = |count: u64| json!({"inputTokens": count, "outputTokens": 1});
        json!({"turnId": "1", "tokenUsage": {"total": figures(total), "last": figures(last)}})
    };
    talk.tell("thread/tokenUsage/updated", used(100, 100));
    talk.tell("thread/tokenUsage/updated", used(150, 50));
    talk.end_turn("1", "completed");
    talk.prompt(4, "2", "again");
    talk.tell("thread/tokenUsage/updated", used(150, 50));
    talk.tell("thread/tokenUsage/updated", used(180, 30));
    talk.end_turn("2", "completed");
    let inputs: Vec<Value> =
        talk.of_type("turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone()).collect();
    assert_eq!(inputs, [150, 30]);
}

#[test]
fn limits_are_told_when_they_show_something_new() {
    let mut talk = Talk::in_turn();
    let limits = |used: Value| json!({"rateLimits": {"limitId": "codex", "primary": used}});
    for used in [json!(null), json!({"usedPercent": 5}), json!({"usedPercent": 5}), json!({"usedPercent": 6})] {
        talk.tell("account/rateLimits/updated", limits(used));
    }
    assert_eq!(talk.texts()[1..], ["rate_limit primary 5% used", "rate_limit primary 6% used"]);
}

#[test]
fn a_review_is_a_mode_around_ordinary_messages() {
    let mut talk = Talk::in_turn();
    talk.end_turn("1", "completed");
    talk.host(json!({"id": 4, "method": "review/start", "params": {"threadId": "t"}}));
    let asked = json!({"type": "userMessage", "id": "r", "content": [{"type": "text", "text": "current changes"}]});
    talk.agent(json!({"id": 4, "result": {"turn": {"id": "r", "items": [asked]}, "reviewThreadId": "t"}}));
    let review = |kind: &str, text: &str| json!({"turnId": "r", "item": {"type": kind, "id": kind, "review": text}});
    talk.tell("item/started", review("enteredReviewMode", "current changes"));
    talk.tell("item/completed", review("enteredReviewMode", "current changes"));
    talk.tell("turn/started", json!({"turn": {"id": "other", "rootTurnId": "r"}}));
    talk.tell("item/started", review("exitedReviewMode", "all fine"));
    talk.tell("item/completed", review("exitedReviewMode", "all fine"));
    talk.end_turn("r", "completed");
    assert_eq!(
        talk.texts()[1..],
        ["mode_changed review: current changes", "mode_changed review ended", "current changes", "all fine"]
    );
    let turns: Vec<Value> = talk.of_type("turn.started").into_iter().map(|data| data["turn_id"].clone()).collect();
    assert_eq!(turns, ["1", "r"]);
}

#[test]
fn a_one_shot_run_has_its_prompt_from_the_command_line() {
    let mut talk = Talk::new();
    let argv = ["codex", "exec", "--json", "say hi"].map(str::to_owned).to_vec();
    talk.stream.launch(None, &Launch { argv, ..Launch::default() }, &mut talk.events);
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}));
    talk.push(Input::Received(
        r#"{"type":"item.completed","item":{"id":"item_1","type":"web_search","id":"ws_1","query":"q"}}"#,
    ));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "hi"}}));
    talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    talk.stream.finish(None, End::Log, &mut talk.events);
    assert_eq!(talk.texts(), ["say hi", "retry Reconnecting... 1/5 (stream disconnected)", "web_search", "", "hi"]);
    assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(talk.tally().unparsed, 0);
}

#[test]
fn a_one_shot_run_that_fails_says_so_once() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "error", "message": "unexpected status 401 Unauthorized"}));
    talk.agent(json!({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}));
    assert_eq!(talk.of_type("error").len(), 1);
    assert_eq!(talk.of_type("error")[0]["code"], "auth");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], serde_json::to_value(TurnStatus::Failed).unwrap());
}
