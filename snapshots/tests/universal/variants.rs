//! Every variant of the native unions has an arm in its converter, so that what a schema refresh brings is found here
//! and not by a user.

use std::fs;
use std::path::Path;

use interlingua_convert::Agent;
use interlingua_native::{Union, amp, claude, codex, opencode};

/// The source of a converter, all files together.
fn source(agent: Agent) -> String {
    source_where(agent, |_| true)
}

/// The source of a converter, all files together whose name is a wanted one.
fn source_where(agent: Agent, wanted: fn(&str) -> bool) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/convert/src");
    let mut source = String::new();
    append(&root.join(format!("{agent}.rs")), wanted, &mut source);
    append(&root.join(agent.id()), wanted, &mut source);
    assert!(!source.is_empty(), "no source of the {agent} converter");
    source
}

/// Tests are left out: they name what the converter may not.
fn append(path: &Path, wanted: fn(&str) -> bool, source: &mut String) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name == "tests" || name == "tests.rs" {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            append(&entry.unwrap().path(), wanted, source);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") && wanted(name) {
        source.push_str(&fs::read_to_string(path).unwrap_or_default());
    }
}

/// The variants of `T` that the source does not name. `name` is what the source calls the union.
fn missing<T: Union>(source: &str, name: &str) -> Vec<String> {
    let mut missing: Vec<String> = T::TAGS
        .iter()
        .filter(|(_, variant)| !names(source, name, variant))
        .map(|(tag, variant)| format!("{name}::{variant} ({tag})"))
        .collect();
    missing.dedup();
    missing
}

/// Whether the source has `union::variant`, under the union's own name or one it is given with `as` or `type`.
fn names(source: &str, union: &str, variant: &str) -> bool {
    let mut aliases = vec![union];
    let word = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    aliases.extend(source.match_indices(&format!("{union} as ")).map(|(at, found)| {
        let rest = &source[at + found.len()..];
        &rest[..word(rest)]
    }));
    for line in source.lines().filter(|line| line.trim_start().starts_with("type ")) {
        if let Some((name, target)) = line.trim_start()["type ".len()..].split_once(" = ")
            && target.trim_end_matches(';').rsplit("::").next() == Some(union)
        {
            aliases.push(name);
        }
    }
    aliases.iter().any(|alias| {
        let path = format!("{alias}::{variant}");
        source.match_indices(&path).any(|(at, _)| {
            let whole = |character: Option<char>| !character.is_some_and(|c| c.is_alphanumeric() || c == '_');
            whole(source[..at].chars().next_back()) && whole(source[at + path.len()..].chars().next())
        })
    })
}

#[test]
fn a_name_is_found_whole() {
    assert!(names("match x { Event::Foo(_) => 1 }", "Event", "Foo"));
    assert!(names("use a::Event as E; match x { E::Foo(_) => 1 }", "Event", "Foo"));
    assert!(!names("match x { Event::FooBar(_) => 1 }", "Event", "Foo"));
    assert!(!names("match x { OtherEvent::Foo(_) => 1 }", "Event", "Foo"));
}

#[test]
fn every_native_variant_has_an_arm() {
    let mut gaps = Vec::new();
    let amp = source(Agent::Amp);
    gaps.extend(missing::<amp::StreamMessage>(&amp, "StreamMessage"));
    gaps.extend(missing::<amp::AssistantContent>(&amp, "AssistantContent"));
    gaps.extend(missing::<amp::UserContent>(&amp, "UserContent"));
    let claude = source(Agent::Claude);
    gaps.extend(missing::<claude::StdoutMessage>(&claude, "StdoutMessage"));
    gaps.extend(missing::<claude::ContentBlock>(&claude, "ContentBlock"));
    gaps.extend(missing::<claude::RawMessageStreamEvent>(&claude, "RawMessageStreamEvent"));
    gaps.extend(missing::<claude::RawContentBlockDelta>(&claude, "RawContentBlockDelta"));
    gaps.extend(missing::<claude::ControlRequestInner>(&claude, "ControlRequestInner"));
    // Two of Codex's unions have the same name; the lines of `codex exec` are read in one file.
    let codex = source_where(Agent::Codex, |file| file != "exec.rs");
    let exec = source_where(Agent::Codex, |file| file == "exec.rs");
    gaps.extend(missing::<codex::ServerNotification>(&codex, "ServerNotification"));
    gaps.extend(missing::<codex::ServerRequest>(&codex, "ServerRequest"));
    gaps.extend(missing::<codex::ThreadItem>(&codex, "ThreadItem"));
    gaps.extend(missing::<codex::UserInput>(&codex, "UserInput"));
    gaps.extend(missing::<codex::exec::ThreadEvent>(&exec, "ThreadEvent"));
    gaps.extend(missing::<codex::exec::ThreadItem>(&exec, "ThreadItem"));
    let opencode = source(Agent::OpenCode);
    gaps.extend(missing::<opencode::Event>(&opencode, "Event"));
    gaps.extend(missing::<opencode::Part>(&opencode, "Part"));
    gaps.extend(missing::<opencode::Message>(&opencode, "Message"));
    gaps.extend(missing::<opencode::ToolState>(&opencode, "ToolState"));
    gaps.extend(missing::<opencode::SessionStatus>(&opencode, "SessionStatus"));
    assert!(gaps.is_empty(), "the converters do not name: {gaps:#?}");
}
