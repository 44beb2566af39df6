//! A stream that a host begins, leaves and takes up again.

use interlingua_convert::{
    Conversion, ConversionOptions, Converter, Drafts, Failure, Input, InputRef, MessageDraft, MessageEnd,
    PermissionDraft, PromptDraft, QuestionDraft, ResumePoint, ToolCall, TurnEnd,
};
use interlingua_schema::{
    Checker, CommandInput, ContentPart, ErrorCode, EventData, ItemStatus, SessionEnded, SessionMetadata, ToolInput,
    TurnMetadata, TurnStatus, UniversalEvent, Visibility,
};
use serde_json::json;

/// Says what it is told, in a session with the name that the first word is.
struct Told;

impl Converter for Told {
    fn agent(&self) -> &'static str {
        "told"
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        let Input::Received(line) = input else { return };
        let (native, what) = line.split_once(' ').unwrap();
        let mut session = out.session(native);
        match what {
            "hello" => {
                let mut metadata = SessionMetadata::default();
                metadata.model = Some("m".to_owned());
                session.started(metadata);
            }
            "begin" => {
                let mut metadata = TurnMetadata::default();
                metadata.agent_mode = Some("build".to_owned());
                session.turn_started(None, metadata);
            }
            "end" => session.turn_ended(TurnEnd::new()),
            "think" => {
                session.message_started("m", MessageDraft::reasoning(Visibility::Private));
                session.message_delta("m", "hm");
            }
            "call" => session.tool_called("c", ToolCall::new("c", "ls")),
            "command" => {
                let input = ToolInput::Command(CommandInput::new("sleep 9"));
                session.tool_called("c", ToolCall::new("c", "bash").input(Some(input)));
            }
            "output" => session.tool_output("c", "a.txt"),
            "ask" => session.permission_requested("p", PermissionDraft::default()),
            "questions" => session.questions_requested("q", vec![QuestionDraft::default(), QuestionDraft::default()]),
            text => session.message_finished(text, MessageDraft::assistant(), MessageEnd::text(text)),
        }
    }
}

struct Live {
    stream: Conversion<Told>,
    events: Vec<UniversalEvent>,
}

impl Live {
    fn begun() -> Self {
        let mut live = Self { stream: Conversion::new(Told, ConversionOptions::default()), events: Vec::new() };
        let mut metadata = SessionMetadata::default();
        metadata.cwd = Some("/w".to_owned());
        live.stream.start_session(None, None, metadata, &mut live.events);
        live
    }

    fn receive(mut self, lines: &[&str]) -> Self {
        for line in lines {
            self.stream.push(None, Input::Received(line), &mut self.events);
        }
        self
    }

    /// The stream is gone; another one goes on from what was written down since the event with this sequence.
    fn cut_off(self, settled: u64) -> Self {
        let mut resume = ResumePoint::new(self.events[0].session_id.clone());
        for event in &self.events {
            if event.sequence > settled {
                resume.observe(event);
            }
        }
        // Ids are counted anew, so they are made different here as they are in a server.
        let mut stream = Conversion::new(Told, ConversionOptions::new(false, Box::new(Later::default())));
        stream.resume(resume);
        Self { stream, events: self.events }
    }

    #[track_caller]
    fn keeps_the_rules(&self) {
        let mut checker = Checker::new();
        let broken: Vec<_> = self.events.iter().flat_map(|event| checker.push(event)).collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }

    fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.data.kind()).collect()
    }
}

#[derive(Default)]
struct Later(interlingua_convert::CountingIds, String);

impl interlingua_convert::IdSource for Later {
    fn next_event_id(&mut self) -> &str {
        self.1 = format!("{}b", self.0.next_event_id());
        &self.1
    }

    fn next_item_id(&mut self) -> interlingua_schema::ItemId {
        format!("{}b", self.0.next_item_id()).into()
    }

    fn next_turn_id(&mut self) -> String {
        format!("{}b", self.0.next_turn_id())
    }

    fn session_id(&mut self, native: Option<&str>) -> interlingua_schema::SessionId {
        self.0.session_id(native)
    }
}

fn lost() -> Failure {
    Failure::new(ErrorCode::AgentError, "the server stopped")
}

#[test]
fn a_session_that_the_host_began_stays_the_only_one_whatever_its_agent_calls_it() {
    let live = Live::begun().receive(&["n1 hello", "n1 begin", "n1 hi", "n1 end", "n2 hello", "n2 begin", "n2 ho"]);
    live.keeps_the_rules();
    assert_eq!(live.kinds().iter().filter(|kind| **kind == "session.started").count(), 1);
    let last = live.events.last().unwrap();
    assert_eq!(last.session_id, live.events[0].session_id);
    assert_eq!(last.native_session_id.as_ref().unwrap().as_str(), "n2");
}

#[test]
fn what_the_agent_tells_of_itself_is_metadata_of_its_next_turn() {
    let live = Live::begun().receive(&["n hello", "n begin", "n end", "n begin"]);
    let metadata: Vec<_> = live
        .events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::SessionStarted(started) => serde_json::to_value(&started.metadata).ok(),
            EventData::TurnStarted(started) => serde_json::to_value(&started.metadata).ok(),
            _ => None,
        })
        .collect();
    assert_eq!(
        metadata,
        [
            json!({ "agent": "told", "cwd": "/w" }),
            json!({ "model": "m", "agent_mode": "build" }),
            json!({ "agent_mode": "build" })
        ]
    );
}

#[test]
fn what_a_lost_stream_left_open_is_closed_as_failed() {
    let live =
        Live::begun().receive(&["n begin", "n hi", "n end", "n begin", "n think", "n call", "n output", "n ask"]);
    let before = live.events.len();
    let mut live = live.receive(&["n questions"]).cut_off(6);
    live.stream.close_unfinished(None, &lost(), &mut live.events);
    live.keeps_the_rules();
    assert_eq!(
        live.kinds()[before + 2..],
        [
            "error",
            "permission.resolved",
            "question.resolved",
            "question.resolved",
            "item.completed",
            "item.completed",
            "turn.ended"
        ]
    );
    let EventData::ItemCompleted(thought) = &live.events[before + 6].data else { panic!("{:?}", live.kinds()) };
    assert_eq!(thought.item.content, [ContentPart::reasoning("hm", Visibility::Private)]);
    let EventData::ItemCompleted(result) = &live.events[before + 7].data else { panic!("{:?}", live.kinds()) };
    assert!(matches!(&result.item.content[0], ContentPart::ToolResult { output, .. } if output == "a.txt"));
    // Closing again says nothing, and the session goes on.
    let closed = live.events.len();
    live.stream.close_unfinished(None, &lost(), &mut live.events);
    assert_eq!(live.events.len(), closed);
    let live = live.receive(&["n begin", "n ask", "n end"]);
    live.keeps_the_rules();
    let again = live.events.iter().rev().find_map(|event| match &event.data {
        EventData::PermissionRequested(permission) => Some(permission.permission_id.as_str()),
        _ => None,
    });
    assert_eq!(again, Some("p#2"));
}

#[test]
fn a_call_without_a_result_gets_one_when_it_is_lost() {
    let mut live = Live::begun().receive(&["n begin", "n call"]).cut_off(0);
    live.stream.close_unfinished(None, &lost(), &mut live.events);
    live.keeps_the_rules();
    assert_eq!(live.kinds()[4..], ["error", "item.started", "item.completed", "turn.ended"]);
}

#[test]
fn a_command_that_runs_on_after_its_turn_is_closed_when_it_is_lost() {
    for heard in [&["n begin", "n command", "n end"][..], &["n begin", "n command", "n output", "n end"]] {
        let live = Live::begun().receive(heard);
        live.keeps_the_rules();
        let mut live = live.cut_off(0);
        live.stream.close_unfinished(None, &lost(), &mut live.events);
        live.keeps_the_rules();
        let EventData::ItemCompleted(result) = &live.events.last().unwrap().data else { panic!("{:?}", live.kinds()) };
        assert_eq!(result.item.status, ItemStatus::Failed);
        assert!(matches!(&result.item.content[0], ContentPart::ToolResult { .. }));
    }
}

#[test]
fn output_before_its_call_is_one_result_when_it_is_lost() {
    for heard in [&["n begin", "n output"][..], &["n begin", "n output", "n call"]] {
        let mut live = Live::begun().receive(heard).cut_off(0);
        live.stream.close_unfinished(None, &lost(), &mut live.events);
        live.keeps_the_rules();
    }
}

#[test]
fn a_stream_that_left_nothing_open_goes_on_without_a_word() {
    let mut live = Live::begun().receive(&["n begin", "n hi", "n end"]).cut_off(0);
    let before = live.events.len();
    live.stream.close_unfinished(None, &lost(), &mut live.events);
    assert_eq!(live.events.len(), before);
    live.receive(&["n begin", "n ho", "n end"]).keeps_the_rules();
}

#[test]
fn the_keys_of_pending_requests_are_known_until_they_are_answered() {
    let live = Live::begun().receive(&["n begin", "n ask", "n end", "n begin", "n ask", "n questions"]);
    assert_eq!(live.stream.permission_key("p"), None);
    assert_eq!(live.stream.permission_key("p#2").unwrap().as_str(), "p");
    let (key, together) = live.stream.question_key("q:1").unwrap();
    assert_eq!((key.as_str(), together), ("q", vec!["q:0", "q:1"]));
    let live = live.receive(&["n end"]);
    assert!(live.stream.permission_key("p#2").is_none() && live.stream.question_key("q:1").is_none());
}

#[test]
fn the_host_can_say_what_crossed_no_wire() {
    let mut live = Live::begun();
    live.stream.push_host_drafts(
        None,
        |drafts| {
            let mut session = drafts.current_session();
            session.prompt_sent(PromptDraft::text("hi"));
            session.failed(Failure::new(ErrorCode::AgentError, "not there"));
            session.turn_ended(TurnEnd::with_status(TurnStatus::Failed));
        },
        &mut live.events,
    );
    live.keeps_the_rules();
    assert_eq!(
        live.kinds()[1..],
        ["turn.started", "item.started", "item.delta", "item.completed", "error", "turn.ended"]
    );
    assert!(live.events.iter().all(|event| event.origin.is_synthetic()));
}

#[test]
fn a_session_that_nobody_can_go_on_with_ends_as_an_error() {
    let mut live = Live::begun().receive(&["n begin", "n think"]);
    live.stream.push(None, Input::Stderr("boom"), &mut live.events);
    live.stream.fail_session(None, "it is gone", &mut live.events);
    live.keeps_the_rules();
    let EventData::SessionEnded(SessionEnded { message, stderr, .. }) = &live.events.last().unwrap().data else {
        panic!("{:?}", live.kinds())
    };
    assert_eq!(message.as_deref(), Some("it is gone"));
    assert_eq!(stderr.as_ref().unwrap().head.as_deref(), Some("boom"));
}
