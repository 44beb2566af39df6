//! Every variant of the native unions has an arm in its converter, so that what a schema refresh brings is found here
//! and not by a user.

use std::fs;
use std::path::Path;

use interlingua_convert::Agent;
use interlingua_native::{Union, amp, claude, codex, opencode};

/// The source of a converter, all files together.
fn source(agent: Agent) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/convert/src");
    let mut source = fs::read_to_string(root.join(format!("{agent}.rs"))).unwrap_or_default();
    append(&root.join(agent.name()), &mut source);
    assert!(!source.is_empty(), "no source of the {agent} converter");
    source
}

fn append(folder: &Path, source: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            append(&path, source);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            source.push_str(&fs::read_to_string(&path).unwrap());
        }
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
    let codex = source(Agent::Codex);
    gaps.extend(missing::<codex::ServerNotification>(&codex, "ServerNotification"));
    gaps.extend(missing::<codex::ServerRequest>(&codex, "ServerRequest"));
    gaps.extend(missing::<codex::ThreadItem>(&codex, "ThreadItem"));
    gaps.extend(missing::<codex::exec::ThreadEvent>(&codex, "ThreadEvent"));
    let opencode = source(Agent::OpenCode);
    gaps.extend(missing::<opencode::Event>(&opencode, "Event"));
    gaps.extend(missing::<opencode::Part>(&opencode, "Part"));
    assert!(gaps.is_empty(), "the converters do not name: {gaps:#?}");
}
