//! The examples of `docs/http-api.md`, run in their order against a real server.
//!
//! A block marked `console` has commands and what they print. `…` matches any value, a key `"…"` any further keys, a line
//! `…` any further lines of a stream. `$NAME` keeps a value for the path of a later command. The command that starts the
//! server starts it again when it is repeated.

use std::collections::BTreeMap;
use std::time::Duration;

use interlingua_server::{Access, FileRoots, ServerConfig};
use interlingua_store::StoreOptions;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::history::claude_history;
use crate::test_server::start_server_with;

const PAGE: &str = include_str!("../../../../docs/http-api.md");
const ADDRESS: &str = "http://127.0.0.1:2468";
const ANY: &str = "…";
/// How long a stream of events may take to print what the page says.
const STREAM_TIMEOUT: Duration = Duration::from_secs(20);

/// One `curl` command of the page.
struct Example {
    line: usize,
    /// Whether the server is started again before.
    restarts_server: bool,
    method: Method,
    path: String,
    content_type: Option<String>,
    body: Option<String>,
    output: String,
}

/// Values that examples print and later ones use, by their names on the page.
type Variables = BTreeMap<String, String>;

#[tokio::test]
async fn every_example_of_the_page_does_what_it_says() {
    let histories = claude_history();
    let config = || {
        ServerConfig::new(Access::Loopback)
            .files(Some(FileRoots::default()))
            .history_folders(vec![histories.path().to_owned()])
    };
    let mut server = start_server_with(config(), StoreOptions::default()).await;
    let work = tempfile::tempdir().unwrap();
    let examples = examples();
    assert!(examples.len() >= 15, "only {} examples were found", examples.len());
    let mut variables = Variables::from([("$WORK".to_owned(), work.path().to_str().unwrap().to_owned())]);
    for example in &examples {
        let at = format!("docs/http-api.md:{}: {} {}", example.line, example.method, example.path);
        if example.restarts_server {
            server = server.restart(config()).await;
        }
        let insert =
            |text: &str| variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        let mut request = server.request(example.method.clone(), &insert(&example.path));
        if let Some(content_type) = &example.content_type {
            request = request.header("content-type", content_type);
        }
        if let Some(body) = &example.body {
            request = request.body(insert(body));
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        if example.output.starts_with("id: ") {
            assert_eq!(status, StatusCode::OK, "{at}");
            check_stream(&at, response, &example.output, &mut variables).await;
            continue;
        }
        let text = response.text().await.unwrap();
        if example.output.is_empty() {
            assert_eq!((status, text.as_str()), (StatusCode::NO_CONTENT, ""), "{at}");
            continue;
        }
        if !example.output.starts_with(['{', '[']) {
            assert_eq!((status, text.as_str()), (StatusCode::OK, example.output.trim_end()), "{at}");
            continue;
        }
        let expected = parse_json(&at, &example.output);
        let found = parse_json(&at, &text);
        let expected_status = expected.get("status").and_then(Value::as_u64).unwrap_or(200);
        assert_eq!(u64::from(status.as_u16()), expected_status, "{at}: {text}");
        matches(&expected, &found, &mut variables).unwrap_or_else(|reason| panic!("{at}: {reason}"));
    }
}

#[tokio::test]
async fn every_endpoint_has_a_section() {
    let server = start_server_with(ServerConfig::new(Access::Loopback), StoreOptions::default()).await;
    let document = server.get_json("/v1/openapi.json").await;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let is_described = PAGE.contains(&format!("`{method} {path}`"))
                || path
                    .strip_suffix("/reject")
                    .is_some_and(|start| PAGE.contains(&format!("`{method} {start}/reply` and `/reject`")));
            assert!(is_described, "docs/http-api.md has no section for {method} {path}");
        }
    }
}

/// Reads a stream of events until it has printed what the page shows.
async fn check_stream(at: &str, mut response: reqwest::Response, expected: &str, variables: &mut Variables) {
    let mut text = String::new();
    let mut position = 0;
    let mut may_skip = false;
    let reading = async {
        for expected in expected.lines() {
            if expected == ANY {
                may_skip = true;
                continue;
            }
            loop {
                let Some(length) = text[position..].find('\n') else {
                    let piece = response.chunk().await.unwrap();
                    let piece = piece.unwrap_or_else(|| panic!("{at}: no line {expected:?} in\n{text}"));
                    text.push_str(std::str::from_utf8(&piece).unwrap());
                    continue;
                };
                let line = &text[position..position + length];
                position += length + 1;
                match matches_line(expected, line, variables) {
                    Ok(()) => break,
                    Err(_) if may_skip => {}
                    Err(reason) => panic!("{at}: {reason}"),
                }
            }
            may_skip = false;
        }
    };
    let read = tokio::time::timeout(STREAM_TIMEOUT, reading).await;
    assert!(read.is_ok(), "{at}: the stream printed only\n{text}");
    // The rest is read, so that the next example finds the session in the state that the page describes.
    if at.contains("/messages/stream") {
        while response.chunk().await.unwrap().is_some() {}
    }
}

fn matches_line(expected: &str, found: &str, variables: &mut Variables) -> Result<(), String> {
    match (expected.strip_prefix("data: "), found.strip_prefix("data: ")) {
        (Some(expected), Some(found)) => {
            matches(&parse_json("expected", expected), &parse_json("found", found), variables)
        }
        _ if expected == format!("id: {ANY}") && found.starts_with("id: ") => Ok(()),
        _ if expected == found => Ok(()),
        _ => Err(format!("expected {expected:?}, found {found:?}")),
    }
}

/// Whether a value is what the page shows. Sets the variables of the page.
fn matches(expected: &Value, found: &Value, variables: &mut Variables) -> Result<(), String> {
    match (expected, found) {
        (Value::String(any), _) if any == ANY => Ok(()),
        (Value::String(name), Value::String(value)) if name.starts_with('$') => {
            variables.insert(name.clone(), value.clone());
            Ok(())
        }
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected.iter().filter(|(key, _)| *key != ANY) {
                let found = found.get(key).ok_or_else(|| format!("no `{key}` in {found:?}"))?;
                matches(value, found, variables).map_err(|reason| format!("{key}: {reason}"))?;
            }
            let unexpected: Vec<&String> = found.keys().filter(|key| !expected.contains_key(*key)).collect();
            if expected.contains_key(ANY) || unexpected.is_empty() {
                return Ok(());
            }
            Err(format!("the page does not show {unexpected:?}"))
        }
        (Value::Array(expected), Value::Array(found)) => {
            let is_open = expected.last().is_some_and(|last| last == ANY);
            if !is_open && expected.len() != found.len() {
                return Err(format!("expected {} elements, found {found:?}", expected.len()));
            }
            expected.iter().zip(found).try_for_each(|(expected, found)| matches(expected, found, variables))
        }
        _ if expected == found => Ok(()),
        _ => Err(format!("expected {expected}, found {found}")),
    }
}

fn parse_json(at: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{at}: not JSON: {error}: {text}"))
}

fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_console = false;
    let mut restarts_server = false;
    for (index, line) in PAGE.lines().enumerate() {
        match line {
            "```console" => in_console = true,
            "```" => in_console = false,
            _ if !in_console => {}
            _ => match line.strip_prefix("$ curl ") {
                Some(command) => examples.push(parse(index + 1, std::mem::take(&mut restarts_server), command)),
                // The command that starts the server.
                None if line.starts_with("$ ") => restarts_server = !examples.is_empty(),
                None => {
                    let output = &mut examples.last_mut().expect("output follows a command").output;
                    output.push_str(line);
                    output.push('\n');
                }
            },
        }
    }
    examples
}

fn parse(line: usize, restarts_server: bool, command: &str) -> Example {
    let words = shlex::split(command).unwrap_or_else(|| panic!("docs/http-api.md:{line}: unbalanced quotes"));
    let mut example = Example {
        line,
        restarts_server,
        method: Method::GET,
        path: String::new(),
        content_type: None,
        body: None,
        output: String::new(),
    };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("an option has a value");
        match word.as_str() {
            "-X" => example.method = value().parse().unwrap(),
            "-d" => example.body = Some(value()),
            "-H" => {
                let header = value();
                let content_type = header.strip_prefix("Content-Type: ");
                example.content_type =
                    Some(content_type.unwrap_or_else(|| panic!("docs/http-api.md:{line}: {header}")).to_owned());
            }
            "-N" => {}
            url => {
                let path = url.strip_prefix(ADDRESS);
                path.unwrap_or_else(|| panic!("docs/http-api.md:{line}: {url}")).clone_into(&mut example.path);
            }
        }
    }
    example
}

#[test]
fn every_promise_of_the_security_page_has_its_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let mut sources = String::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    // The last cell of a row has the names.
    let rows = page.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once(" | "));
    let names: Vec<&str> =
        rows.flat_map(|(_, tests)| tests.split(", ")).filter_map(|name| name.strip_prefix('`')).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let name = name.trim_end_matches('`');
        assert!(sources.contains(&format!("fn {name}(")), "SECURITY.md names the test {name}, which does not exist");
    }
}
