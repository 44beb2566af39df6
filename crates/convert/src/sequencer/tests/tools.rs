use interlingua_schema::{
    CommandInput, ContentPart, EventData, FileAction, FileChange, FileChangeInput, ItemKind, ItemStatus,
    SessionMetadata, ToolInput, TurnMetadata, TurnStatus,
};

use super::harness::Harness;
use crate::{MessageDraft, MessageEnd, ToolCall, ToolResult, TurnEnd};

fn ls() -> ToolCall {
    ToolCall::new("c", "ls").arguments("{\"a\":1}")
}

#[test]
fn a_call_and_its_result_are_items_below_the_message() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant().in_message("msg"), MessageEnd::text("Hi")));
    harness.agent(|s| s.message_finished("n", MessageDraft::assistant(), MessageEnd::text("Ho"))).skip_events();
    harness.agent(|s| s.tool_called("c", ls().in_message("msg"))).agent(|s| s.tool_finished("c", ToolResult::ok("x")));
    harness.assert_events(&[
        "*+3<1 toolcall/assistant ls{\"a\":1}",
        "=3<1 toolcall/assistant ls{\"a\":1}",
        "*+4<1 toolresult/tool []",
        "=4<1 toolresult/tool [x]",
    ]);
    harness.agent(|s| s.tool_called("d", ls().in_message("unknown")));
    harness.assert_events(&["*+5<2 toolcall/assistant ls{\"a\":1}", "=5<2 toolcall/assistant ls{\"a\":1}"]);
}

#[test]
fn arguments_and_output_are_streamed() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.tool_started("c", ToolCall::new("c", "ls")))
        .agent(|s| s.tool_arguments("c", "{\"a\":"))
        .agent(|s| s.tool_arguments("c", "1}"))
        .agent(|s| s.tool_output("c", "one"))
        .agent(|s| s.tool_finished("c", ToolResult::as_streamed()));
    harness.assert_events(&[
        "+1 toolcall/assistant ls{}",
        "~1 {\"a\":",
        "~1 1}",
        "*=1 toolcall/assistant ls{\"a\":1}",
        "*+2 toolresult/tool []",
        "~2 one",
        "=2 toolresult/tool [one]",
    ]);
}

#[test]
fn a_call_may_be_named_after_its_first_output() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.tool_output("c", "one")).agent(|s| s.tool_output("c", "two"));
    harness.agent(|s| s.tool_called("c", ls())).agent(|s| s.tool_finished("c", ToolResult::as_streamed()));
    harness.assert_events(&[
        "*+1 toolcall/assistant unknown{}",
        "*+2 toolresult/tool []",
        "~2 one",
        "~2 two",
        "=1 toolcall/assistant ls{\"a\":1}",
        "=2 toolresult/tool [onetwo]",
    ]);
    harness.agent(|s| s.tool_output("d", "one")).agent(|s| s.tool_finished("d", ToolResult::as_streamed()));
    harness.assert_events(&[
        "*+3 toolcall/assistant unknown{}",
        "*+4 toolresult/tool []",
        "~4 one",
        "*=3 toolcall/assistant unknown{}",
        "=4 toolresult/tool [one]",
    ]);
}

#[test]
fn a_nonzero_exit_code_fails_the_result() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.tool_called("c", ls())).skip_events();
    harness.agent(|s| s.tool_finished("c", ToolResult::ok("no").exit_code(Some(3))));
    harness.assert_events(&["*+2 toolresult/tool []", "=2 toolresult/tool! [no] exit 3"]);
}

#[test]
fn a_result_without_a_call_adds_the_call() {
    Harness::with_session().agent(|s| s.tool_finished("c", ToolResult::failed("no"))).assert_events(&[
        "*+1 toolcall/assistant unknown{}",
        "*=1 toolcall/assistant unknown{}",
        "*+2 toolresult/tool []",
        "=2 toolresult/tool! [no]",
    ]);
    let result = ToolResult::ok("yes").with_call(ls());
    Harness::with_session().agent(|s| s.tool_finished("c", result)).assert_events(&[
        "*+1 toolcall/assistant ls{\"a\":1}",
        "*=1 toolcall/assistant ls{\"a\":1}",
        "*+2 toolresult/tool []",
        "=2 toolresult/tool [yes]",
    ]);
}

#[test]
fn a_call_has_one_result() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.tool_finished("c", ToolResult::ok("x"))).skip_events();
    harness.agent(|s| s.tool_finished("c", ToolResult::ok("y"))).agent(|s| s.tool_output("c", "z")).assert_events(&[]);
    harness.agent(|s| s.tool_called("c", ls())).assert_events(&[]);
}

#[test]
fn a_result_after_its_turn_is_a_late_result() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", ls()));
    harness.agent(|s| s.tool_output("c", "one")).skip_events();
    harness
        .agent(|s| s.turn_ended(TurnEnd::new()))
        .assert_events(&["*=2 toolresult/tool! [one]", "turn.ended Completed"]);
    let file = ContentPart::FileRef { path: "f".into(), action: FileAction::Write, diff: None };
    harness.agent(|s| s.tool_finished("c", ToolResult::ok("one two").with_part(file)));
    harness.assert_events(&["*+3<1 status", "=3<1 status LateResult one two <f>"]);
    harness.agent(|s| s.tool_finished("c", ToolResult::ok("again"))).assert_events(&[]);
}

#[test]
fn a_tool_without_output_may_finish_after_a_completed_turn() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", ls()));
    harness.agent(|s| s.turn_ended(TurnEnd::new())).skip_events();
    harness.agent(|s| s.tool_finished("c", ToolResult::ok("x")));
    harness.assert_events(&["*+2 toolresult/tool []", "=2 toolresult/tool [x]"]);
}

#[test]
fn an_interrupt_cuts_tools_off() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.tool_called("c", ls()));
    harness.agent(|s| s.tool_started("d", ls())).skip_events();
    harness.agent(|s| s.turn_ended(TurnEnd::with_status(TurnStatus::Interrupted)));
    harness.assert_events(&[
        "*+3 toolresult/tool []",
        "*=3 toolresult/tool! []",
        "*=2 toolcall/assistant! ls{\"a\":1}",
        "*+4 toolresult/tool []",
        "*=4 toolresult/tool! []",
        "turn.ended Interrupted",
    ]);
}

#[test]
fn truncated_arguments_become_a_json_string() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.tool_started("c", ToolCall::new("c", "ls")))
        .agent(|s| s.tool_arguments("c", "{\"a"))
        .skip_events();
    harness.agent(|s| s.tool_abandoned("c"));
    harness.assert_events(&[
        r#"*=1 toolcall/assistant! ls"{\"a""#,
        "*+2 toolresult/tool []",
        "*=2 toolresult/tool! []",
    ]);
}

fn command(text: &str) -> ToolCall {
    ToolCall::new("c", "bash").input(Some(ToolInput::Command(CommandInput::new(text))))
}

#[test]
fn a_command_still_running_after_its_turn_completes_later_with_or_without_output() {
    for output in [None, Some("on port 80")] {
        let mut harness = Harness::with_session();
        harness
            .agent(|s| s.turn_started(None, TurnMetadata::default()))
            .agent(|s| s.tool_called("c", command("serve")));
        if let Some(output) = output {
            harness.agent(|s| s.tool_output("c", output));
        }
        harness.agent(|s| s.turn_ended(TurnEnd::new())).skip_events();
        // A later turn that is interrupted does not end the command.
        harness.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt();
        harness.agent(|s| s.turn_ended(TurnEnd::new()));
        harness.assert_events(&["turn.started", "turn.ended Interrupted"]);
        harness.agent(|s| s.tool_finished("c", ToolResult::ok("done").exit_code(Some(0))));
        let EventData::ItemCompleted(done) = &harness.events.last().unwrap().data else {
            panic!("{:?}", harness.events)
        };
        assert_eq!((done.item.kind.clone(), done.item.status.clone()), (ItemKind::ToolResult, ItemStatus::Completed));
        harness.skip_events().assert_events(&[]);
    }
}

#[test]
fn a_command_is_cut_off_by_an_interrupt_or_the_end_of_its_process() {
    for end in ["turn", "process"] {
        let mut harness = Harness::with_session();
        harness
            .agent(|s| s.turn_started(None, TurnMetadata::default()))
            .agent(|s| s.tool_called("c", command("serve")));
        harness.agent(|s| s.tool_output("c", "x"));
        match end {
            "turn" => harness.interrupt().agent(|s| s.turn_ended(TurnEnd::new())),
            _ => harness.agent(|s| s.turn_ended(TurnEnd::new())).exit(0),
        };
        let closed = harness.events.iter().any(|event| {
            matches!(&event.data, EventData::ItemCompleted(done)
                if done.item.kind == ItemKind::ToolResult && done.item.status == ItemStatus::Failed)
        });
        assert!(closed, "{end}: {:?}", harness.events);
        harness.skip_events().assert_events(&[]);
    }
}

#[test]
fn paths_and_diffs_are_relative_to_the_sessions_directory() {
    let mut harness = Harness::new();
    let mut metadata = SessionMetadata::default();
    metadata.cwd = Some("/w".to_owned());
    harness.agent(|s| s.started(metadata));
    let mut change = FileChange::new("src/a.rs");
    change.diff = Some("@@ -1 +1 @@\n-a\n+b\n".to_owned());
    let input = ToolInput::FileChange(FileChangeInput::new(vec![change]));
    harness.agent(|s| s.tool_called("e", ToolCall::new("e", "edit").input(Some(input))));
    let file =
        ContentPart::FileRef { path: "src/a.rs".into(), action: FileAction::Patch, diff: Some("@@ @@\n".into()) };
    harness.agent(|s| s.tool_finished("e", ToolResult::ok("").with_part(file)));
    let parts: Vec<_> = harness
        .events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemCompleted(done) => Some(done.item.content.clone()),
            _ => None,
        })
        .collect();
    let ContentPart::ToolCall { title, input: Some(input), .. } = &parts[0][0] else { panic!() };
    let ToolInput::FileChange(input) = &**input else { panic!("{input:?}") };
    assert_eq!(title.as_deref(), Some("Edit src/a.rs"));
    assert_eq!(input.changes[0].path, "/w/src/a.rs");
    assert_eq!(input.changes[0].diff.as_deref(), Some("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+b\n"));
    let ContentPart::FileRef { path, diff, .. } = &parts[1][1] else { panic!() };
    assert_eq!((path.as_str(), diff.as_deref()), ("/w/src/a.rs", Some("--- a/src/a.rs\n+++ b/src/a.rs\n@@ @@\n")));
}
