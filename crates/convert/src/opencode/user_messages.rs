//! User messages. OpenCode echoes each prompt as a message with its own id, part by part.
//!
//! A message is shown when it has all its parts, which only the next payload proves. A message that comes while the
//! agent works is shown when the agent starts on it: the agent's answer names it as parent.

use interlingua_native::opencode::{FilePart, FilePartSource, PromptFileAttachment, PromptPart, SubtaskPart};
use interlingua_schema::{ContentPart, FileAction, RawJson};
use serde_json::json;

use super::compaction::AutoCompaction;
use super::finish::Finish;
use super::messages::MessageState;
use super::session::Session;
use super::turn::turn_metadata;
use super::{REPEATED_PROMPT, STATE_ECHO};
use crate::{Drafts, Key, Note, UserMessage};

/// A user message that is not shown yet.
#[derive(Debug)]
pub(super) struct PendingUserMessage {
    pub(super) id: String,
    /// Texts and attachments of the user.
    typed: Vec<UserPart<ContentPart>>,
    /// Texts that OpenCode has added.
    synthetic: Vec<UserPart<String>>,
    /// Agent (OpenCode's word for a mode) that the message is for.
    agent: Option<String>,
    model: Option<String>,
}

/// Part of a user message.
#[derive(Debug)]
pub(super) struct UserPart<T> {
    pub(super) id: String,
    pub(super) content: T,
    /// Payload with the part.
    pub(super) raw: Option<RawJson>,
}

impl PendingUserMessage {
    pub(super) fn new(id: String) -> Self {
        Self { id, typed: Vec::new(), synthetic: Vec::new(), agent: None, model: None }
    }

    /// Sets agent and model that the message is for.
    pub(super) fn with_mode(mut self, agent: Option<String>, model: Option<String>) -> Self {
        self.agent = agent;
        self.model = model;
        self
    }

    fn is_empty(&self) -> bool {
        self.typed.is_empty() && self.synthetic.is_empty()
    }

    /// Texts without placeholders of attachments.
    fn texts(&self) -> Vec<String> {
        let texts = self.typed.iter().filter_map(|part| part.content.streamed_text());
        texts.filter(|text| !text.starts_with(ATTACHMENT_PLACEHOLDER)).map(str::to_owned).collect()
    }
}

impl Session {
    /// Adds or updates a part of a user message.
    pub(super) fn user_part(&mut self, message: &str, part: UserPart<ContentPart>, out: &mut Drafts) {
        let Some(user) = self.pending_user_messages.iter_mut().find(|user| user.id == message) else {
            return self.late_user_part(message, part, out);
        };
        match user.typed.iter_mut().find(|known| known.id == part.id) {
            Some(known) => *known = part,
            None => user.typed.push(part),
        }
        let is_repeated_prompt =
            self.pending_user_messages.iter().any(|user| user.id == message && self.is_repeated_prompt(user));
        out.dropped(if is_repeated_prompt { REPEATED_PROMPT } else { PENDING_PART });
    }

    /// A part that comes after its message was shown.
    fn late_user_part(&mut self, message: &str, part: UserPart<ContentPart>, out: &mut Drafts) {
        if self.messages.get(&message.to_owned()).is_none() {
            self.messages.insert(message.to_owned(), MessageState::User);
            self.pending_user_messages.push(PendingUserMessage::new(message.to_owned()));
            return self.user_part(message, part, out);
        }
        if self.shown_parts.get(&part.id).is_some() {
            return out.dropped(STATE_ECHO);
        }
        let key = format!("{message}:{}", part.id);
        let late = UserMessage::new(vec![part.content]).native_id(part.id.as_str()).in_message(message).injected();
        self.shown_parts.insert(part.id, ());
        out.session(self.id.as_str()).user_message(key, late);
    }

    /// A text that OpenCode has added to a user message.
    pub(super) fn synthetic_part(&mut self, message: &str, part: UserPart<String>, out: &mut Drafts) {
        if self.shown_parts.get(&part.id).is_some() {
            return out.dropped(STATE_ECHO);
        }
        if let Some(user) = self.pending_user_messages.iter_mut().find(|user| user.id == message) {
            user.synthetic.retain(|known| known.id != part.id);
            user.synthetic.push(part);
        } else {
            self.show_synthetic(part, out);
        }
        out.dropped(PENDING_PART);
    }

    /// Drafts a text that OpenCode has added as a system item, because the user did not write it.
    fn show_synthetic(&mut self, part: UserPart<String>, out: &mut Drafts) {
        self.shown_parts.insert(part.id, ());
        out.session(self.id.as_str()).note(Note::system(part.content).raw(part.raw));
    }

    /// Shows the complete user messages: all of them while the agent is not active, else those up to
    /// `answered`, the one that the agent starts on. Messages that OpenCode has added do not wait.
    pub(super) fn show_user_messages(&mut self, answered: Option<&str>, out: &mut Drafts) {
        if self.pending_user_messages.is_empty() {
            return;
        }
        let answered =
            answered.and_then(|answered| self.pending_user_messages.iter().position(|user| user.id == answered));
        let mut pending = Vec::new();
        for (index, user) in std::mem::take(&mut self.pending_user_messages).into_iter().enumerate() {
            let is_answered = answered.is_some_and(|answered| index <= answered);
            if user.is_empty() && !is_answered || self.turn.is_active && !is_answered && !user.typed.is_empty() {
                pending.push(user);
            } else {
                self.show_user_message(user, out);
            }
        }
        self.pending_user_messages = pending;
    }

    /// Whether a message repeats the last prompt. OpenCode does this after a compaction that makes room for the prompt.
    fn is_repeated_prompt(&self, user: &PendingUserMessage) -> bool {
        self.turn.auto_compaction == AutoCompaction::OnOverflow
            && !user.typed.is_empty()
            && user.texts() == self.last_user_texts
    }

    fn show_user_message(&mut self, user: PendingUserMessage, out: &mut Drafts) {
        if self.is_repeated_prompt(&user) {
            self.turn.auto_compaction = AutoCompaction::Automatic;
            self.messages.insert(user.id, MessageState::RepeatedUser);
            return out.dropped(REPEATED_PROMPT);
        }
        self.messages.insert(user.id.clone(), MessageState::ShownUser);
        self.is_started = true;
        let mut no_reply = false;
        if !user.typed.is_empty() {
            self.last_user_texts = user.texts();
            let (model, agent) = (user.model, user.agent);
            no_reply = self.emit_user_message(&user.id, user.typed, model, agent, out);
        } else if let Some(prompt) = self.take_shell_prompt() {
            self.turn.is_open = true;
            self.turn.failed_before_echo = false;
            out.session(self.id.as_str()).prompt_accepted(Some(prompt));
        }
        for part in user.synthetic {
            self.show_synthetic(part, out);
        }
        if no_reply && !self.turn.is_active {
            self.end_turn(out);
        }
    }

    /// Drafts the user's parts as a message, in a new turn if the agent has finished the previous one. Returns true if
    /// the agent does not answer it.
    fn emit_user_message(
        &mut self,
        id: &str,
        typed: Vec<UserPart<ContentPart>>,
        model: Option<String>,
        agent: Option<String>,
        out: &mut Drafts,
    ) -> bool {
        let finish = self.turn.last_finish.as_deref().map(Finish::parse);
        let answered = finish.is_some_and(|finish| finish != Finish::Continues);
        if self.turn.is_open && self.turn.is_active && (answered || self.turn.awaits_message || self.is_cut_off()) {
            self.end_turn(out);
        }
        if !self.turn.is_open {
            out.session(self.id.as_str()).synthetic().turn_started(None, turn_metadata(model, agent));
        }
        self.turn.is_open = true;
        self.turn.failed_before_echo = false;
        self.previous_failures.clear();
        // The payload of the message is the one with the text, not the one with an attachment.
        let is_text = |part: &&mut UserPart<ContentPart>| matches!(part.content, ContentPart::Text { .. });
        let mut typed = typed;
        let raw = match typed.iter_mut().find(is_text) {
            Some(text) => text.raw.take(),
            None => typed.first_mut().and_then(|part| part.raw.take()),
        };
        let mut content = Vec::with_capacity(typed.len());
        for part in typed {
            self.shown_parts.insert(part.id, ());
            content.push(part.content);
        }
        let echo = self.match_echo(id, &content).unwrap_or_default();
        let mut message = UserMessage::new(content).native_id(id).in_message(id).raw(raw);
        if let Some(key) = echo.key {
            message = message.echo_of(key);
        }
        out.session(self.id.as_str()).user_message(id, message);
        echo.no_reply
    }
}

/// How the text begins that replaces an attachment in a repeated prompt.
const ATTACHMENT_PLACEHOLDER: &str = "[Attached ";
/// Drop reason for a part of a user message that is not shown yet.
const PENDING_PART: &str = "part of a user message, shown with the message";

/// File of a user or a tool: an image, or a reference to any other file.
pub(super) fn file_content(
    mime: Option<String>,
    url: Option<String>,
    name: Option<String>,
    source: Option<FilePartSource>,
) -> ContentPart {
    let url = url.unwrap_or_default();
    let path = match source {
        Some(FilePartSource::File(file)) => file.path,
        Some(FilePartSource::Symbol(symbol)) => symbol.path,
        Some(FilePartSource::Resource(resource)) => resource.uri,
        _ => None,
    };
    let path = path.or_else(|| url.strip_prefix("file://").map(local_path));
    match mime {
        Some(mime) if mime.starts_with("image/") => {
            let path = path.filter(|_| !url.starts_with("data:")).unwrap_or(url);
            ContentPart::Image { path, mime: Some(mime) }
        }
        _ => {
            let path = path.or(name).unwrap_or(url);
            ContentPart::FileRef { path, action: FileAction::Read, diff: None }
        }
    }
}

/// Path of a `file:` URL, without its line range.
fn local_path(url: &str) -> String {
    url.split('?').next().unwrap_or(url).to_owned()
}

pub(super) fn file_part(part: FilePart) -> ContentPart {
    file_content(part.mime, part.url, part.filename, part.source)
}

/// Task that the user gives to a sub-agent.
pub(super) fn subtask_content(part: SubtaskPart) -> ContentPart {
    ContentPart::text(part.prompt.or(part.description).unwrap_or_default())
}

/// Agent that the text mentions.
pub(super) fn agent_mention(name: Option<&str>) -> ContentPart {
    ContentPart::Json { json: json!({ "agent": name }) }
}

/// Part of a prompt of the host; `None` if the user did not write it.
pub(super) fn prompt_part(part: PromptPart) -> Option<ContentPart> {
    match part {
        PromptPart::Text(text) if text.synthetic == Some(true) => None,
        PromptPart::Text(text) => Some(ContentPart::text(text.text.unwrap_or_default())),
        PromptPart::File(part) => Some(file_content(part.mime, part.url, part.filename, part.source)),
        PromptPart::Agent(agent) => Some(agent_mention(agent.name.as_deref())),
        PromptPart::Subtask(task) => Some(ContentPart::text(task.prompt.or(task.description).unwrap_or_default())),
        PromptPart::Unknown { .. } => None,
    }
}

/// Attachment of a prompt of the v2 API.
pub(super) fn attachment_content(file: PromptFileAttachment) -> ContentPart {
    file_content(file.mime, file.uri, file.name, None)
}

/// Content of a prompt of the v2 API.
pub(super) fn v2_prompt_content(prompt: interlingua_native::opencode::Prompt) -> Vec<ContentPart> {
    let mut content = vec![ContentPart::text(prompt.text.unwrap_or_default())];
    content.extend(prompt.files.into_iter().flatten().map(attachment_content));
    content.extend(prompt.agents.into_iter().flatten().map(|agent| agent_mention(agent.name.as_deref())));
    content
}

/// Key of a prompt without a message id, from the number of its request.
pub(super) fn prompt_key(call: u64) -> Key {
    format!("call:{call}").into()
}
