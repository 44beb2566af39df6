//! A live stream: the host starts a session, loses it and resumes it.

use interlingua_convert::{
    Conversion, ConversionOptions, Converter, Drafts, Failure, Input, InputRef, MessageDraft, MessageEnd,
    PermissionDraft, PromptDraft, QuestionDraft, ResumePoint, ToolCall, TurnEnd,
};
use interlingua_schema::{
    Checker, CommandInput, ContentPart, ErrorCode, EventData, ItemStatus, SessionEnded, SessionMetadata, ToolInput,
    TurnMetadata, TurnStatus, UniversalEvent, Visibility,
};
use serde_json::json;

/// Takes lines of a native session id and a command, such as `n1 begin`, and makes the drafts of the command.
struct CommandConverter;

impl Converter for CommandConverter {
    fn agent(&self) -> &'static str {
        "commands"
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        let Input::Received(line) = input else { return };
        let (native, command) = line.split_once(' ').unwrap();
        let mut session = out.session(native);
        match command {
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

struct LiveStream {
    conversion: Conversion<CommandConverter>,
    events: Vec<UniversalEvent>,
}

impl LiveStream {
    fn started() -> Self {
        let mut live =
            Self { conversion: Conversion::new(CommandConverter, ConversionOptions::default()), events: Vec::new() };
        let mut metadata = SessionMetadata::default();
        metadata.cwd = Some("/w".to_owned());
        live.conversion.start_session(None, None, metadata, &mut live.events);
        live
    }

    fn receive(mut self, lines: &[&str]) -> Self {
        for line in lines {
            self.conversion.push(None, Input::Received(line), &mut self.events);
        }
        self
    }

    /// Drops the stream, and resumes from its events after the one with this sequence number, at which nothing was open.
    fn cut_off(self, closed: u64) -> Self {
        let mut resume = ResumePoint::new(self.events[0].session_id.clone());
        for event in &self.events {
            if event.sequence > closed {
                resume.observe(event);
            }
        }
        // Counting starts anew, so these ids get a suffix. A server has unique ids.
        let mut conversion =
            Conversion::new(CommandConverter, ConversionOptions::new(false, Box::new(LaterIds::default())));
        conversion.resume(resume);
        Self { conversion, events: self.events }
    }

    #[track_caller]
    fn assert_valid(&self) {
        let mut checker = Checker::new();
        let violations: Vec<_> = self.events.iter().flat_map(|event| checker.push(event)).collect();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.data.kind()).collect()
    }
}

/// Counted ids with a suffix.
#[derive(Default)]
struct LaterIds(interlingua_convert::CountingIds, String);

impl interlingua_convert::IdSource for LaterIds {
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

fn server_stopped() -> Failure {
    Failure::new(ErrorCode::AgentError, "the server stopped")
}

#[test]
fn a_session_that_the_host_started_stays_the_only_one_under_any_native_id() {
    let live =
        LiveStream::started().receive(&["n1 hello", "n1 begin", "n1 hi", "n1 end", "n2 hello", "n2 begin", "n2 ho"]);
    live.assert_valid();
    assert_eq!(live.kinds().iter().filter(|kind| **kind == "session.started").count(), 1);
    let last = live.events.last().unwrap();
    assert_eq!(last.session_id, live.events[0].session_id);
    assert_eq!(last.native_session_id.as_ref().unwrap().as_str(), "n2");
}

#[test]
fn later_session_metadata_becomes_metadata_of_the_next_turn() {
    let live = LiveStream::started().receive(&["n hello", "n begin", "n end", "n begin"]);
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
            json!({ "agent": "commands", "cwd": "/w" }),
            json!({ "model": "m", "agent_mode": "build" }),
            json!({ "agent_mode": "build" })
        ]
    );
}

#[test]
fn unfinished_work_of_a_lost_stream_is_closed_as_failed() {
    let live = LiveStream::started()
        .receive(&["n begin", "n hi", "n end", "n begin", "n think", "n call", "n output", "n ask"]);
    let before = live.events.len();
    let mut live = live.receive(&["n questions"]).cut_off(6);
    live.conversion.close_unfinished(None, &server_stopped(), &mut live.events);
    live.assert_valid();
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
    // Closing again does nothing, and the session continues.
    let closed = live.events.len();
    live.conversion.close_unfinished(None, &server_stopped(), &mut live.events);
    assert_eq!(live.events.len(), closed);
    let live = live.receive(&["n begin", "n ask", "n end"]);
    live.assert_valid();
    let again = live.events.iter().rev().find_map(|event| match &event.data {
        EventData::PermissionRequested(permission) => Some(permission.permission_id.as_str()),
        _ => None,
    });
    assert_eq!(again, Some("p#2"));
}

#[test]
fn a_lost_call_without_a_result_gets_one() {
    let mut live = LiveStream::started().receive(&["n begin", "n call"]).cut_off(0);
    live.conversion.close_unfinished(None, &server_stopped(), &mut live.events);
    live.assert_valid();
    assert_eq!(live.kinds()[4..], ["error", "item.started", "item.completed", "turn.ended"]);
}

#[test]
fn a_lost_command_that_ran_on_after_its_turn_is_closed() {
    for lines in [&["n begin", "n command", "n end"][..], &["n begin", "n command", "n output", "n end"]] {
        let live = LiveStream::started().receive(lines);
        live.assert_valid();
        let mut live = live.cut_off(0);
        live.conversion.close_unfinished(None, &server_stopped(), &mut live.events);
        live.assert_valid();
        let EventData::ItemCompleted(result) = &live.events.last().unwrap().data else { panic!("{:?}", live.kinds()) };
        assert_eq!(result.item.status, ItemStatus::Failed);
        assert!(matches!(&result.item.content[0], ContentPart::ToolResult { .. }));
    }
}

#[test]
fn lost_output_before_its_call_is_one_result() {
    for lines in [&["n begin", "n output"][..], &["n begin", "n output", "n call"]] {
        let mut live = LiveStream::started().receive(lines).cut_off(0);
        live.conversion.close_unfinished(None, &server_stopped(), &mut live.events);
        live.assert_valid();
    }
}

#[test]
fn a_stream_without_unfinished_work_resumes_without_events() {
    let mut live = LiveStream::started().receive(&["n begin", "n hi", "n end"]).cut_off(0);
    let before = live.events.len();
    live.conversion.close_unfinished(None, &server_stopped(), &mut live.events);
    assert_eq!(live.events.len(), before);
    live.receive(&["n begin", "n ho", "n end"]).assert_valid();
}

#[test]
fn keys_of_pending_requests_are_known_until_they_are_resolved() {
    let live = LiveStream::started().receive(&["n begin", "n ask", "n end", "n begin", "n ask", "n questions"]);
    assert_eq!(live.conversion.permission_key("p"), None);
    assert_eq!(live.conversion.permission_key("p#2").unwrap().as_str(), "p");
    let (key, question_ids) = live.conversion.question_key("q:1").unwrap();
    assert_eq!((key.as_str(), question_ids), ("q", vec!["q:0", "q:1"]));
    let live = live.receive(&["n end"]);
    assert!(live.conversion.permission_key("p#2").is_none() && live.conversion.question_key("q:1").is_none());
}

#[test]
fn the_host_can_add_drafts_without_input() {
    let mut live = LiveStream::started();
    live.conversion.push_host_drafts(
        None,
        |drafts| {
            let mut session = drafts.current_session();
            session.prompt_sent(PromptDraft::text("hi"));
            session.failed(Failure::new(ErrorCode::AgentError, "not there"));
            session.turn_ended(TurnEnd::with_status(TurnStatus::Failed));
        },
        &mut live.events,
    );
    live.assert_valid();
    assert_eq!(
        live.kinds()[1..],
        ["turn.started", "item.started", "item.delta", "item.completed", "error", "turn.ended"]
    );
    assert!(live.events.iter().all(|event| event.origin.is_synthetic()));
}

#[test]
fn a_session_that_cannot_be_resumed_ends_with_an_error() {
    let mut live = LiveStream::started().receive(&["n begin", "n think"]);
    live.conversion.push(None, Input::Stderr("boom"), &mut live.events);
    live.conversion.fail_session(None, "it is gone", &mut live.events);
    live.assert_valid();
    let EventData::SessionEnded(SessionEnded { message, stderr, .. }) = &live.events.last().unwrap().data else {
        panic!("{:?}", live.kinds())
    };
    assert_eq!(message.as_deref(), Some("it is gone"));
    assert_eq!(stderr.as_ref().unwrap().head.as_deref(), Some("boom"));
}

#[test]
fn a_resumed_session_is_in_the_directory_that_a_turn_moved_to() {
    let mut live = LiveStream::started();
    let mut metadata = TurnMetadata::default();
    metadata.cwd = Some("/moved".to_owned());
    live.conversion.push_host_drafts(
        None,
        |drafts| drafts.current_session().turn_started(None, metadata.clone()),
        &mut live.events,
    );
    let mut resume = ResumePoint::new(live.events[0].session_id.clone());
    live.events.iter().for_each(|event| resume.observe(event));
    assert_eq!(resume.cwd.as_deref(), Some("/moved"));
}
