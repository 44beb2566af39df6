//! Parses scenario files.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semver::VersionReq;
use serde::Deserialize;

use super::{
    HostAnswer, MAIN_SESSION, ModelReply, PermissionPolicy, Scenario, Setup, Step, SubAgent, TriggeredAction, Turn,
    UnsupportedAgent, answer, check, step,
};

/// Why a file is not a scenario.
#[derive(Debug, thiserror::Error)]
pub enum InvalidScenario {
    /// The file cannot be read.
    #[error("cannot read the scenario {path}: {error}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// The I/O error.
        error: std::io::Error,
    },
    /// It is not TOML, or has keys that a scenario does not have.
    #[error("the scenario {name:?} is malformed: {error}")]
    Malformed {
        /// Name of the scenario.
        name: String,
        /// The parse error with its line.
        error: Box<toml::de::Error>,
    },
    /// Its parts do not fit together.
    #[error("the scenario {name:?} cannot be played: {reason}")]
    Inconsistent {
        /// Name of the scenario.
        name: String,
        /// The inconsistency.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    #[serde(default)]
    setup: SetupTable,
    #[serde(default)]
    absent: BTreeMap<String, String>,
    #[serde(rename = "turn")]
    turns: Vec<TurnTable>,
    #[serde(default, rename = "subagent")]
    sub_agents: BTreeMap<String, SubAgentTable>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other in the file")]
struct SetupTable {
    permissions: PermissionPolicy,
    plan_mode: bool,
    mcp: bool,
    patches: bool,
    escalates: bool,
    files: BTreeMap<String, Content>,
}

/// Content of a file. It is decoded during deserialization, so that an error has a line number.
#[derive(Deserialize)]
#[serde(try_from = "ContentValue")]
struct Content(Vec<u8>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or { base64 = \"…\" }")]
enum ContentValue {
    Text(String),
    Bytes(Base64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base64 {
    base64: String,
}

impl TryFrom<ContentValue> for Content {
    type Error = String;

    fn try_from(value: ContentValue) -> Result<Self, String> {
        match value {
            ContentValue::Text(text) => Ok(Self(text.into_bytes())),
            ContentValue::Bytes(Base64 { base64 }) => {
                STANDARD.decode(&base64).map(Self).map_err(|error| format!("{base64:?} is not base64: {error}"))
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnTable {
    user: String,
    #[serde(default)]
    attach: Vec<String>,
    session: Option<String>,
    #[serde(default)]
    resume: bool,
    #[serde(default)]
    open: bool,
    model: Vec<Vec<StepTable>>,
    #[serde(default)]
    host: Vec<answer::AnswerValue>,
    #[serde(default)]
    act: Vec<TriggeredAction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubAgentTable {
    task: String,
    model: Vec<Vec<StepTable>>,
}

/// A step. It is checked during deserialization, so that an error has a line number.
#[derive(Deserialize)]
#[serde(try_from = "step::StepKeys")]
struct StepTable(Step);

impl TryFrom<step::StepKeys> for StepTable {
    type Error = String;

    fn try_from(keys: step::StepKeys) -> Result<Self, String> {
        Step::try_from(keys).map(Self)
    }
}

fn replies(tables: Vec<Vec<StepTable>>) -> Vec<ModelReply> {
    tables.into_iter().map(|reply| reply.into_iter().map(|step| step.0).collect()).collect()
}

/// Parses the entries of `[absent]`: the id of an agent, and possibly the versions, such as `codex@<0.98`.
fn unsupported_agents(name: &str, absent: BTreeMap<String, String>) -> Result<Vec<UnsupportedAgent>, InvalidScenario> {
    let parse = |(key, reason): (String, String)| {
        let (agent, versions) = match key.split_once('@') {
            Some((agent, versions)) => {
                let versions = VersionReq::parse(versions).map_err(|error| InvalidScenario::Inconsistent {
                    name: name.to_owned(),
                    reason: format!(
                        "[absent] names {key:?}; expected an agent or versions of it, such as codex@<0.98: {error}"
                    ),
                })?;
                (agent.to_owned(), Some(versions))
            }
            None => (key, None),
        };
        Ok(UnsupportedAgent { agent, versions, reason })
    };
    absent.into_iter().map(parse).collect()
}

impl Scenario {
    /// Reads a scenario from a file. Its name is the file name without the extension.
    ///
    /// # Errors
    /// When the file cannot be read or is not a scenario.
    pub fn read(file: &Path) -> Result<Self, InvalidScenario> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(file)
            .map_err(|error| InvalidScenario::Unreadable { path: file.display().to_string(), error })?;
        Self::parse(&name, &text)
    }

    /// Parses a scenario with this name from TOML.
    ///
    /// # Errors
    /// When the text is not a scenario, or its parts do not fit together.
    pub fn parse(name: &str, text: &str) -> Result<Self, InvalidScenario> {
        let file: File = toml::from_str(text)
            .map_err(|error| InvalidScenario::Malformed { name: name.to_owned(), error: Box::new(error) })?;
        let SetupTable { permissions, plan_mode, mcp, patches, escalates, files } = file.setup;
        let files = files.into_iter().map(|(path, content)| (path, content.0)).collect();
        let scenario = Self {
            name: name.to_owned(),
            about: file.about,
            setup: Setup { permissions, plan_mode, mcp, patches, escalates, files },
            unsupported: unsupported_agents(name, file.absent)?,
            turns: file.turns.into_iter().map(Turn::from).collect(),
            sub_agents: file
                .sub_agents
                .into_iter()
                .map(|(name, table)| (name, SubAgent { task: table.task, replies: replies(table.model) }))
                .collect(),
        };
        match check::find_problem(&scenario) {
            Some(reason) => Err(InvalidScenario::Inconsistent { name: name.to_owned(), reason }),
            None => Ok(scenario),
        }
    }
}

impl From<TurnTable> for Turn {
    fn from(table: TurnTable) -> Self {
        Self {
            prompt: table.user,
            attachments: table.attach,
            session: table.session.unwrap_or_else(|| MAIN_SESSION.to_owned()),
            resume: table.resume,
            overlaps_next: table.open,
            replies: replies(table.model),
            answers: table.host.into_iter().map(HostAnswer::from).collect(),
            actions: table.act,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{HostAction, StopReason, StreamedText, ToolAction, Trigger};
    use super::*;

    fn parse(text: &str) -> Result<Scenario, String> {
        Scenario::parse("test", text).map_err(|error| error.to_string())
    }

    fn first_reply(steps: &str) -> Result<ModelReply, String> {
        let scenario = parse(&format!("about = \"x\"\n[[turn]]\nuser = \"hello\"\nmodel = [[{steps}]]\n"))?;
        Ok(scenario.turns[0].replies[0].clone())
    }

    #[test]
    fn every_key_of_a_scenario_is_parsed() {
        let scenario = parse(
            r#"
            about = "All of it."
            [setup]
            permissions = "ask"
            plan_mode = true
            mcp = true
            files = { "a.txt" = "one\n", "b.bin" = { base64 = "AP8=" } }
            [absent]
            codex = "it cannot"
            "claude@<2.1.77" = "it retries in silence"
            [[turn]]
            user = "Do it"
            attach = ["b.bin"]
            model = [
                [{ status = 429, retry_after = 1, times = 2 }],
                [{ think = "Hm." }, { say = "One two", drip_ms = 5 }, { delegate = "helper" }],
                [{ stop = "length" }],
            ]
            host = ["allow", "always", "deny", { deny = "no" }, { choose = [["A"], ["B", "C"]] }, "dismiss"]
            act = [{ on = "text", do = "interrupt" }, { on = { file = "started" }, do = "say" }]
            [[turn]]
            user = "And again"
            session = "other"
            resume = true
            open = true
            model = [[{ until = "main" }, { cut = true }]]
            [subagent.helper]
            task = "Look around"
            model = [[{ run = "ls" }], [{ say = ["a", "b"] }]]
            "#,
        )
        .unwrap();
        assert!(scenario.setup.permissions == PermissionPolicy::Ask && scenario.setup.plan_mode && scenario.setup.mcp);
        assert_eq!(scenario.unsupported_reason("codex", "0.1.0"), Some("it cannot"));
        assert_eq!(scenario.unsupported_reason("claude", "2.1.76"), Some("it retries in silence"));
        assert_eq!(scenario.unsupported_reason("claude", "2.1.77"), None);
        assert_eq!(
            (scenario.setup.files["a.txt"].as_slice(), scenario.setup.files["b.bin"].as_slice()),
            (&b"one\n"[..], &[0, 255][..])
        );
        let turn = &scenario.turns[0];
        assert_eq!(turn.attachments, ["b.bin"]);
        assert_eq!(
            turn.replies[0],
            [Step::HttpError {
                status: 429,
                message: "Scripted refusal with status 429".to_owned(),
                retry_after: Some(1),
                times: 2
            }]
        );
        let text =
            StreamedText { chunks: vec!["One ".to_owned(), "two".to_owned()], interval: Duration::from_millis(5) };
        assert_eq!(turn.replies[1][1], Step::Text(text));
        assert_eq!(turn.replies[2], [Step::Stop(StopReason::Length)]);
        assert_eq!(turn.answers.len(), 6);
        assert_eq!(
            turn.answers[4],
            HostAnswer::Choose(vec![vec!["A".to_owned()], vec!["B".to_owned(), "C".to_owned()]])
        );
        assert_eq!(
            turn.actions[1],
            TriggeredAction { trigger: Trigger::File("started".to_owned()), action: HostAction::SendMessage }
        );
        assert_eq!(scenario.session_names(), ["main", "other"]);
        assert!(scenario.turns[1].resume && scenario.turns[1].overlaps_next);
        assert_eq!(scenario.sub_agents["helper"].replies.len(), 2);
    }

    #[test]
    fn every_tool_action_is_parsed() {
        let reply = first_reply(
            r#"{ run = "ls" }, { read = "a" }, { write = "a", content = "b" }, { edit = "a", old = "b", new = "c" },
               { patch = [{ add = "a", content = "b" }, { delete = "c" }] }, { search = "x" },
               { ask = [{ question = "Which?", header = "W", options = ["A", "B"] }] }, { plan = "P" },
               { todo = [{ task = "t", state = "in_progress" }] }, { mcp = "tiny.add", args = { a = 1 } },
               { tool = "nix", args_text = "{broken" }"#,
        )
        .unwrap();
        assert_eq!(reply.len(), 11);
        assert_eq!(
            reply[10],
            Step::ToolCall(ToolAction::Tool { name: "nix".to_owned(), arguments: "{broken".to_owned() })
        );
    }

    #[test]
    fn an_invalid_step_is_rejected_with_its_line_and_what_was_expected() {
        for (step, expected) in [
            ("{ say = \"a\", run = \"b\" }", "found say and run"),
            ("{ }", "found none of them"),
            ("{ write = \"a\" }", "expected `content` with `write`"),
            ("{ run = \"a\", old = \"b\" }", "`old` is not allowed with `run`"),
            ("{ status = 200 }", "expected a status from 400 to 599, found 200"),
            ("{ mcp = \"add\" }", "expected \"server.tool\", found \"add\""),
            ("{ jump = 1 }", "unknown field `jump`"),
        ] {
            let error = first_reply(step).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(error.contains("line 4"), "{error}");
        }
    }
}
