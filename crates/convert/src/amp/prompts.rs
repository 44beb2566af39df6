//! Prompts that the host sends: on the command line, in lines of JSON, or as plain text.

use std::collections::VecDeque;

use interlingua_schema::ContentPart;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::draft::streamed_text;
use crate::{Launch, PromptDraft};

/// Maximum number of prompts that are tracked until Amp echoes them.
const MAX_SENT_PROMPTS: usize = 256;

/// Flags that take a value, so the next argument is not the prompt.
const FLAGS_WITH_VALUE: [&str; 9] = [
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

/// The prompts that the host sent.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// Prompts that Amp has not echoed yet.
    sent: VecDeque<SentPrompt>,
    mode: RunMode,
    /// Plain text sent to the agent. It is one prompt when the input is closed.
    plain_text: Option<String>,
}

#[derive(Debug)]
struct SentPrompt {
    text: String,
    /// Images of the prompt, which the echo leaves out.
    images: Vec<ContentPart>,
    /// It was sent with `steer`, so it joins the running turn.
    is_steering: bool,
}

/// Input and output format of the process.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum RunMode {
    /// The command line is unknown. Treated like `StreamJsonInput`.
    #[default]
    Unknown,
    /// `-x` without `--stream-json`: the answer is plain text.
    PlainText,
    /// `--stream-json`.
    StreamJson,
    /// `--stream-json-input`.
    StreamJsonInput,
}

/// A line for `--stream-json-input`.
#[derive(Deserialize)]
struct InputLine<'a> {
    #[serde(borrow)]
    message: MessageBody<'a>,
    #[serde(default)]
    steer: bool,
}

#[derive(Deserialize)]
struct MessageBody<'a> {
    /// A string or a list of blocks.
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
    source: Option<ImageSource>,
}

#[derive(Deserialize)]
struct ImageSource {
    media_type: Option<String>,
    data: Option<String>,
    url: Option<String>,
    path: Option<String>,
}

impl Prompts {
    /// Starts a process. Returns the prompt on its command line, if there is one.
    pub(super) fn process_started(&mut self, launch: &Launch) -> Option<PromptDraft> {
        *self = Self { mode: RunMode::from_argv(&launch.argv), ..Self::default() };
        let prompt = launch.prompt.clone().or_else(|| prompt_from_argv(&launch.argv))?;
        Some(self.push(prompt, Vec::new(), false))
    }

    /// Adds a line that the host sent. Returns the prompt if the line is one.
    pub(super) fn push_line(&mut self, line: &str) -> Option<PromptDraft> {
        if matches!(self.mode, RunMode::PlainText | RunMode::StreamJson) {
            let text = self.plain_text.get_or_insert_default();
            text.push_str(line);
            text.push('\n');
            return None;
        }
        // Amp rejects any other line, so it is not a prompt.
        let line: InputLine<'_> = serde_json::from_str(line).ok()?;
        let content = line.message.content.get();
        let blocks = if content.starts_with('"') {
            vec![Block { text: serde_json::from_str(content).ok()?, source: None }]
        } else {
            serde_json::from_str(content).ok()?
        };
        let mut text = String::new();
        let mut images = Vec::new();
        for block in blocks {
            text.extend(block.text);
            images.extend(block.source.and_then(image_part));
        }
        Some(self.push(text, images, line.steer))
    }

    /// The host closed the agent's input. Returns the prompt that was sent as plain text.
    pub(super) fn input_closed(&mut self) -> Option<PromptDraft> {
        let text = self.plain_text.take()?;
        // If the command line has a prompt, the text is part of that prompt.
        self.sent.is_empty().then(|| self.push(text.trim_end().to_owned(), Vec::new(), false))
    }

    /// Takes the prompt that Amp echoes. Returns its images and whether it joins the running turn.
    pub(super) fn take_echoed(&mut self, echo: &[ContentPart]) -> Option<(Vec<ContentPart>, bool)> {
        let text = streamed_text(echo);
        let index = self.sent.iter().position(|sent| sent.text == text).unwrap_or(0);
        let sent = self.sent.remove(index)?;
        Some((sent.images, sent.is_steering))
    }

    /// Whether the agent prints its answer as plain text.
    pub(super) fn is_plain_text_run(&self) -> bool {
        self.mode == RunMode::PlainText
    }

    fn push(&mut self, text: String, images: Vec<ContentPart>, is_steering: bool) -> PromptDraft {
        let mut content = Vec::new();
        if !text.is_empty() || images.is_empty() {
            content.push(ContentPart::text(text.as_str()));
        }
        content.extend(images.iter().cloned());
        self.sent.push_back(SentPrompt { text, images, is_steering });
        if self.sent.len() > MAX_SENT_PROMPTS {
            self.sent.pop_front();
        }
        let prompt = PromptDraft::new(content);
        if self.is_plain_text_run() { prompt } else { prompt.expect_echo() }
    }
}

impl RunMode {
    fn from_argv(argv: &[String]) -> Self {
        let has = |flag: &str| argv.iter().any(|argument| argument == flag);
        if argv.is_empty() || has("--stream-json-input") {
            if argv.is_empty() { Self::Unknown } else { Self::StreamJsonInput }
        } else if argv.iter().any(|argument| argument.starts_with("--stream-json")) {
            Self::StreamJson
        } else {
            Self::PlainText
        }
    }
}

/// The prompt of `amp -x PROMPT`: the argument after `-x`, or the first one after it that is not a flag or its value.
fn prompt_from_argv(argv: &[String]) -> Option<String> {
    let flag = argv.iter().position(|argument| argument == "-x" || argument == "--execute")?;
    if let Some(prompt) = argv.get(flag + 1).filter(|argument| !argument.starts_with('-')) {
        return Some(prompt.clone());
    }
    let mut arguments = argv.iter().skip(flag + 1);
    while let Some(argument) = arguments.next() {
        if FLAGS_WITH_VALUE.contains(&argument.as_str()) {
            arguments.next();
        } else if !argument.starts_with('-') {
            return Some(argument.clone());
        }
    }
    None
}

fn image_part(source: ImageSource) -> Option<ContentPart> {
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
