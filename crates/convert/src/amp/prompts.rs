//! What the host tells Amp: in its arguments, in lines of JSON, or in plain text.

use std::collections::VecDeque;

use interlingua_schema::ContentPart;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::draft::streamed_text;
use crate::{Launch, PromptDraft};

/// So many prompts are remembered that were sent and not yet repeated.
const MOST_SENT: usize = 256;

/// Flags that take a value, which is then not the prompt.
const WITH_VALUE: [&str; 9] = [
    "--mode",
    "-m",
    "--mcp-config",
    "--settings-file",
    "--log-level",
    "--log-file",
    "--visibility",
    "--toolbox",
    "--label",
];

/// The prompts on their way to the agent.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    sent: VecDeque<Sent>,
    mode: Mode,
    /// Plain text from the agent's input, which is one prompt when it is over.
    text: Option<String>,
}

/// A prompt that the agent has not repeated yet.
#[derive(Debug)]
struct Sent {
    text: String,
    /// What the agent leaves out when it repeats the prompt: images.
    left_out: Vec<ContentPart>,
    /// It joins the running turn.
    steered: bool,
}

/// How the process was started.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nobody knows; taken for `--stream-json-input`.
    #[default]
    Unknown,
    /// `-x` without `--stream-json`: the answer is plain text.
    Plain,
    /// `--stream-json`.
    Json,
    /// `--stream-json-input`.
    JsonInput,
}

/// A line for `--stream-json-input`.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Body<'a>,
    #[serde(default)]
    steer: bool,
}

#[derive(Deserialize)]
struct Body<'a> {
    /// A text, or blocks.
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
    source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    media_type: Option<String>,
    data: Option<String>,
    url: Option<String>,
    path: Option<String>,
}

impl Prompts {
    /// A process starts; the prompt may be among its arguments.
    pub(super) fn launched(&mut self, launch: &Launch) -> Option<PromptDraft> {
        *self = Self { mode: Mode::of(&launch.argv), ..Self::default() };
        let prompt = launch.prompt.clone().or_else(|| argument(&launch.argv))?;
        Some(self.remember(prompt, Vec::new(), false))
    }

    /// The host sends a line.
    pub(super) fn sent(&mut self, line: &str) -> Option<PromptDraft> {
        if matches!(self.mode, Mode::Plain | Mode::Json) {
            let text = self.text.get_or_insert_default();
            text.push_str(line);
            text.push('\n');
            return None;
        }
        // What is no message in JSON is refused by the agent, and no prompt.
        let line: Line<'_> = serde_json::from_str(line).ok()?;
        let content = line.message.content.get();
        let blocks = if content.starts_with('"') {
            vec![Block { text: serde_json::from_str(content).ok()?, source: None }]
        } else {
            serde_json::from_str(content).ok()?
        };
        let mut text = String::new();
        let mut left_out = Vec::new();
        for block in blocks {
            text.extend(block.text);
            left_out.extend(block.source.and_then(image));
        }
        Some(self.remember(text, left_out, line.steer))
    }

    /// The agent's input is closed, and with it a prompt in plain text.
    pub(super) fn closed(&mut self) -> Option<PromptDraft> {
        let text = self.text.take()?;
        // Text beside a prompt among the arguments is part of that one.
        self.sent.is_empty().then(|| self.remember(text.trim_end().to_owned(), Vec::new(), false))
    }

    /// The agent repeats a prompt: what it leaves out of it, and whether it joins the running turn.
    pub(super) fn echoed(&mut self, said: &[ContentPart]) -> Option<(Vec<ContentPart>, bool)> {
        let text = streamed_text(said);
        let index = self.sent.iter().position(|sent| sent.text == text).unwrap_or(0);
        let sent = self.sent.remove(index)?;
        Some((sent.left_out, sent.steered))
    }

    /// Whether what the agent prints is its answer in plain text.
    pub(super) fn is_plain_run(&self) -> bool {
        self.mode == Mode::Plain
    }

    fn remember(&mut self, text: String, left_out: Vec<ContentPart>, steered: bool) -> PromptDraft {
        let mut content = Vec::new();
        if !text.is_empty() || left_out.is_empty() {
            content.push(ContentPart::text(text.as_str()));
        }
        content.extend(left_out.iter().cloned());
        self.sent.push_back(Sent { text, left_out, steered });
        if self.sent.len() > MOST_SENT {
            self.sent.pop_front();
        }
        let prompt = PromptDraft::new(content);
        if self.is_plain_run() { prompt } else { prompt.expect_echo() }
    }
}

impl Mode {
    fn of(argv: &[String]) -> Self {
        let has = |flag: &str| argv.iter().any(|word| word == flag);
        if argv.is_empty() || has("--stream-json-input") {
            if argv.is_empty() { Self::Unknown } else { Self::JsonInput }
        } else if argv.iter().any(|word| word.starts_with("--stream-json")) {
            Self::Json
        } else {
            Self::Plain
        }
    }
}

/// The prompt of `amp -x PROMPT`: the word after the flag, or the first that belongs to no flag.
fn argument(argv: &[String]) -> Option<String> {
    let flag = argv.iter().position(|word| word == "-x" || word == "--execute")?;
    if let Some(word) = argv.get(flag + 1).filter(|word| !word.starts_with('-')) {
        return Some(word.clone());
    }
    let mut words = argv.iter().skip(flag + 1);
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word.clone());
        }
    }
    None
}

fn image(source: Source) -> Option<ContentPart> {
    let path = match (source.data, source.url.or(source.path)) {
        (Some(data), _) => {
            let mime = source.media_type.as_deref().unwrap_or("application/octet-stream");
            ["data:", mime, ";base64,", &data].concat()
        }
        (None, Some(path)) => path,
        (None, None) => return None,
    };
    Some(ContentPart::Image { path, mime: source.media_type })
}
