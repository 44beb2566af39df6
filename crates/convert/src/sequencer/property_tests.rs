//! Property test: the stream obeys every lifecycle rule, for any drafts in any order.

use interlingua_schema::{
    ApprovalScope, Checker, CommandInput, ContentPart, Decision, ErrorCode, FileAction, FileReadInput, QuestionAnswer,
    RawJson, Retry, Task, TaskState, Timestamp, ToolInput, TurnStatus, Usage, Visibility,
};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::{Provenance, Sequencer, StreamEnd};
use crate::draft::{Draft, DraftAction, Unparsed};
use crate::{
    CountingIds, Failure, Key, MessageDraft, MessageEnd, Note, PermissionDraft, PromptDraft, QuestionDraft, ToolCall,
    ToolResult, TurnEnd, UserMessage,
};

#[derive(Clone, Debug)]
enum Step {
    Draft(Option<Key>, Box<Draft>),
    Stderr,
    Exit(Option<i32>),
    Finish(StreamEnd),
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof!["k0", "k1", "k2"].prop_map(Key::from)
}

fn session() -> impl Strategy<Value = Key> {
    prop_oneof![4 => Just("s0"), 2 => Just("s1"), 1 => Just("s2")].prop_map(Key::from)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(""), Just("a"), Just("ab"), Just("abc"), Just("b"), Just("ä")].prop_map(str::to_owned)
}

fn part() -> impl Strategy<Value = ContentPart> {
    prop_oneof![
        text().prop_map(ContentPart::text),
        text().prop_map(|text| ContentPart::reasoning(text, Visibility::Private)),
        Just(ContentPart::FileRef { path: "p".into(), action: FileAction::Read, diff: None }),
        Just(ContentPart::ToolResult {
            call_id: "k0".into(),
            output: String::new(),
            exit_code: Some(1),
            duration_ms: None,
            stderr_bytes: None,
        }),
    ]
}

fn parts() -> impl Strategy<Value = Vec<ContentPart>> {
    prop::collection::vec(part(), 0..3)
}

fn message() -> impl Strategy<Value = MessageDraft> {
    (0..3, option::of(key()), option::of(key())).prop_map(|(kind, native, native_message)| {
        let mut message = match kind {
            0 => MessageDraft::assistant(),
            1 => MessageDraft::reasoning(Visibility::Public),
            _ => MessageDraft::prompt(),
        };
        message.native_id = native.map(|id| id.as_str().into());
        message.native_message = native_message;
        message
    })
}

fn input() -> impl Strategy<Value = ToolInput> {
    prop_oneof![
        text().prop_map(|command| ToolInput::Command(CommandInput::new(command))),
        text().prop_map(|path| ToolInput::FileRead(FileReadInput::new(path))),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    (key(), option::of(text()), option::of(key()), option::of(input())).prop_map(
        |(id, arguments, native_message, input)| {
            let mut call = ToolCall::new(id.as_str(), "tool").input(input);
            call.arguments = arguments.map(Into::into);
            call.native_message = native_message;
            call
        },
    )
}

fn result() -> impl Strategy<Value = ToolResult> {
    (option::of(text()), any::<bool>(), option::of(-1..2), parts(), option::of(call())).prop_map(
        |(output, failed, exit_code, parts, call)| ToolResult {
            output,
            failed,
            exit_code,
            parts,
            call,
            ..ToolResult::default()
        },
    )
}

fn note() -> impl Strategy<Value = Note> {
    (0..5, option::of(part())).prop_map(|(kind, part)| {
        let note = match kind {
            3 => Note::retry(Retry::default()),
            4 => Note::task(Task::new("t", TaskState::Running), None, Some("k0".into())),
            0 => Note::notice("notice"),
            1 => Note::system("system"),
            _ => Note::unknown(json!({})),
        };
        part.into_iter().fold(note, Note::with_part)
    })
}

fn prompt() -> impl Strategy<Value = PromptDraft> {
    (option::of(key()), parts(), any::<bool>()).prop_map(|(id, content, expects_echo)| PromptDraft {
        id,
        expects_echo,
        ..PromptDraft::new(content)
    })
}

fn user_message() -> impl Strategy<Value = UserMessage> {
    (parts(), option::of(key()), any::<bool>(), any::<bool>()).prop_map(|(content, echo_of, starts_turn, injected)| {
        UserMessage { echo_of, starts_turn, injected, ..UserMessage::new(content) }
    })
}

fn turn_end() -> impl Strategy<Value = TurnEnd> {
    let status = prop_oneof![Just(TurnStatus::Completed), Just(TurnStatus::Failed), Just(TurnStatus::Interrupted)];
    (option::of(status), any::<bool>()).prop_map(|(status, used)| TurnEnd {
        status,
        usage: used.then(|| Usage::new(1, 0)),
        ..TurnEnd::default()
    })
}

fn answer() -> impl Strategy<Value = QuestionAnswer> {
    prop_oneof![text().prop_map(QuestionAnswer::Answered), option::of(text()).prop_map(QuestionAnswer::Rejected)]
}

fn lifecycle() -> impl Strategy<Value = DraftAction> {
    prop_oneof![
        2 => Just(DraftAction::SessionStarted(Box::default())),
        2 => session().prop_map(|parent| DraftAction::ChildOf { parent }),
        3 => (session(), key()).prop_map(|(parent, call)| DraftAction::SpawnedBy { parent, call }),
        1 => Just(DraftAction::ProcessRestarted),
        6 => prompt().prop_map(DraftAction::PromptSent),
        1 => option::of(key()).prop_map(|id| DraftAction::PromptAccepted { id }),
        1 => key().prop_map(|id| DraftAction::PromptRejected { id }),
        1 => Just(DraftAction::InterruptRequested),
        1 => Just(DraftAction::InterruptRejected),
        1 => Just(DraftAction::TurnCutOff),
        6 => option::of(text()).prop_map(|turn_id| DraftAction::TurnStarted { turn_id, metadata: None }),
        6 => turn_end().prop_map(|end| DraftAction::TurnEnded(Box::new(end))),
        6 => (key(), user_message()).prop_map(|(key, message)| DraftAction::UserMessage(key, Box::new(message))),
        1 => Just(DraftAction::UsageAdded(Box::default())),
        1 => Just(DraftAction::Failed(Box::new(Failure::new(ErrorCode::Auth, "no")))),
        1 => Just(DraftAction::Unparsed(Box::new(Unparsed {
            location: "test",
            error: "what".into(),
            native_type: None,
            hash: "0".into(),
            damaged: true,
        }))),
    ]
}

fn items() -> impl Strategy<Value = DraftAction> {
    let end = (option::of(text()), parts(), any::<bool>()).prop_map(|(text, parts, failed)| MessageEnd {
        raw: None,
        text,
        parts,
        failed,
    });
    prop_oneof![
        3 => (key(), message()).prop_map(|(key, message)| DraftAction::MessageStarted(key, message)),
        6 => (key(), text()).prop_map(|(key, text)| DraftAction::MessageDelta(key, text)),
        6 => (key(), message(), end)
            .prop_map(|(key, message, end)| DraftAction::MessageFinished(key, message, Box::new(end))),
        1 => key().prop_map(DraftAction::MessageAbandoned),
        3 => (key(), call()).prop_map(|(key, call)| DraftAction::ToolStarted(key, Box::new(call))),
        2 => (key(), text()).prop_map(|(key, text)| DraftAction::ToolArguments(key, text)),
        4 => (key(), call()).prop_map(|(key, call)| DraftAction::ToolCalled(key, Box::new(call))),
        3 => (key(), text()).prop_map(|(key, text)| DraftAction::ToolOutput(key, text)),
        4 => (key(), result()).prop_map(|(key, result)| DraftAction::ToolFinished(key, Box::new(result))),
        1 => key().prop_map(DraftAction::ToolAbandoned),
        1 => (key(), note()).prop_map(|(key, note)| DraftAction::NoteStarted(key, Box::new(note))),
        1 => (key(), note(), any::<bool>())
            .prop_map(|(key, note, failed)| DraftAction::NoteFinished(key, Box::new(note), failed)),
        1 => note().prop_map(|note| DraftAction::NoteAdded(Box::new(note))),
    ]
}

fn requests() -> impl Strategy<Value = DraftAction> {
    let decision = prop_oneof![Just(Decision::Approved), Just(Decision::Denied)];
    let questions =
        (1..3_usize).prop_map(|count| vec![QuestionDraft { prompt: "?".into(), ..QuestionDraft::default() }; count]);
    prop_oneof![
        (key(), option::of(key()), option::of(input())).prop_map(|(key, call_id, input)| {
            let call_id = call_id.map(|call_id| call_id.to_string());
            DraftAction::PermissionRequested {
                key,
                permission: Box::new(PermissionDraft { call_id, input, ..PermissionDraft::default() }),
            }
        }),
        (key(), decision, option::of(Just(ApprovalScope::Always)))
            .prop_map(|(key, decision, scope)| DraftAction::PermissionResolved { key, decision, scope, by: None }),
        (key(), questions).prop_map(|(key, questions)| DraftAction::QuestionsRequested { key, questions }),
        (key(), prop::collection::vec(answer(), 0..3))
            .prop_map(|(key, answers)| DraftAction::QuestionsResolved { key, answers }),
        key().prop_map(|key| DraftAction::RequestWithdrawn { key }),
    ]
}

fn draft() -> impl Strategy<Value = Draft> {
    let action = prop_oneof![3 => lifecycle(), 5 => items(), 1 => requests()];
    (prop_oneof![3 => Just(None), 1 => key().prop_map(Some)], any::<bool>(), action)
        .prop_map(|(sub_agent, synthetic, action)| Draft { sub_agent, synthetic, action })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        60 => (option::of(session()), draft()).prop_map(|(session, draft)| Step::Draft(session, Box::new(draft))),
        1 => Just(Step::Stderr),
        1 => option::of(-9..2).prop_map(Step::Exit),
        1 => prop_oneof![Just(StreamEnd::Log), Just(StreamEnd::Terminated)].prop_map(Step::Finish),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn any_drafts_give_a_valid_stream(
        steps in prop::collection::vec((step(), any::<bool>(), option::of(0..100_i64)), 0..60),
        raw in any::<bool>(),
    ) {
        let mut sequencer = Sequencer::new("toy", Box::new(CountingIds::default()));
        let mut checker = if raw { Checker::with_raw() } else { Checker::new() };
        let mut events = Vec::new();
        for (step, from_agent, time) in steps {
            let provenance = Provenance {
                time: time.map(Timestamp::from_millis),
                from_agent,
                raw: (raw && from_agent).then(|| RawJson::from_payload("{}")),
            };
            match step {
                Step::Draft(session, mut draft) => {
                    sequencer.apply(&provenance, &mut Draft::select_session(session), &mut events);
                    sequencer.apply(&provenance, &mut draft, &mut events);
                }
                Step::Stderr => sequencer.push_stderr("oops"),
                Step::Exit(code) => {
                    let provenance = Provenance { from_agent: false, ..provenance };
                    sequencer.process_exited(&provenance, code, &mut events);
                }
                Step::Finish(end) => {
                    let provenance = Provenance { from_agent: false, ..provenance };
                    sequencer.finish(&provenance, end, &mut events);
                }
            }
        }
        for event in &events {
            let violations = checker.push(event);
            prop_assert!(
                violations.is_empty(),
                "{violations:?} in\n{}",
                events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect::<String>()
            );
        }
    }
}
