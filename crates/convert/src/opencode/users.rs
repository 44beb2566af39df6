//! What users say. OpenCode repeats it as a message of its own, part by part.
//!
//! A message is shown when all its parts are there, which only the next payload tells. One that comes while the agent
//! works waits until the agent takes it up: the message in which it answers names it as its parent.

use interlingua_native::opencode::{FilePart, FilePartSource, PromptFileAttachment, PromptPart, SubtaskPart};
use interlingua_schema::{ContentPart, FileAction, RawJson};
use serde_json::json;

use super::compaction::Compaction;
use super::finish::Finish;
use super::messages::Known;
use super::session::{Session, turn_metadata};
use super::{SAID_AGAIN, STATE_ECHO};
use crate::{Drafts, Key, Note, UserMessage};

/// A user's message on its way.
#[derive(Debug)]
pub(super) struct PendingUser {
    pub(super) id: String,
    /// What the user said and attached.
    typed: Vec<UserPart<ContentPart>>,
    /// What OpenCode put in the user's mouth.
    added: Vec<UserPart<String>>,
    /// The agent (OpenCode's word for a mode) and the model that it is for.
    agent: Option<String>,
    model: Option<String>,
}

/// A part of a user's message.
#[derive(Debug)]
pub(super) struct UserPart<T> {
    pub(super) id: String,
    pub(super) content: T,
    /// The payload with it.
    pub(super) raw: Option<RawJson>,
}

impl PendingUser {
    pub(super) fn new(id: String) -> Self {
        Self { id, typed: Vec::new(), added: Vec::new(), agent: None, model: None }
    }

    /// Sets the agent and the model that it is for.
    pub(super) fn of_mode(mut self, agent: Option<String>, model: Option<String>) -> Self {
        self.agent = agent;
        self.model = model;
        self
    }

    fn is_empty(&self) -> bool {
        self.typed.is_empty() && self.added.is_empty()
    }

    /// What it says in words, but for those that stand in for files.
    fn texts(&self) -> Vec<String> {
        let texts = self.typed.iter().filter_map(|part| part.content.streamed_text());
        texts.filter(|text| !text.starts_with(STANDS_IN)).map(str::to_owned).collect()
    }
}

impl Session {
    /// A part of a user's message. It may be told again, changed.
    pub(super) fn user_part(&mut self, message: &str, part: UserPart<ContentPart>, out: &mut Drafts) {
        let Some(user) = self.users.iter_mut().find(|user| user.id == message) else {
            return self.late_user_part(message, part, out);
        };
        match user.typed.iter_mut().find(|known| known.id == part.id) {
            Some(known) => *known = part,
            None => user.typed.push(part),
        }
        let is_said_again = self.users.iter().any(|user| user.id == message && self.is_said_again(user));
        out.dropped(if is_said_again { SAID_AGAIN } else { WAITS });
    }

    /// A part that came after its message was shown.
    fn late_user_part(&mut self, message: &str, part: UserPart<ContentPart>, out: &mut Drafts) {
        if self.messages.get(&message.to_owned()).is_none() {
            self.messages.insert(message.to_owned(), Known::User);
            self.users.push(PendingUser::new(message.to_owned()));
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

    /// A text that OpenCode added to a user's message.
    pub(super) fn added_part(&mut self, message: &str, part: UserPart<String>, out: &mut Drafts) {
        if self.shown_parts.get(&part.id).is_some() {
            return out.dropped(STATE_ECHO);
        }
        if let Some(user) = self.users.iter_mut().find(|user| user.id == message) {
            user.added.retain(|known| known.id != part.id);
            user.added.push(part);
        } else {
            self.show_added(part, out);
        }
        out.dropped(WAITS);
    }

    /// What OpenCode added is not the user's.
    fn show_added(&mut self, part: UserPart<String>, out: &mut Drafts) {
        self.shown_parts.insert(part.id, ());
        out.session(self.id.as_str()).note(Note::system(part.content).raw(part.raw));
    }

    /// Shows the user messages that are complete: all of them while the agent is at rest, else those up to the one
    /// that it takes up. What OpenCode added by itself waits for nothing.
    pub(super) fn show_users(&mut self, taken: Option<&str>, out: &mut Drafts) {
        if self.users.is_empty() {
            return;
        }
        let taken = taken.and_then(|taken| self.users.iter().position(|user| user.id == taken));
        let mut waiting = Vec::new();
        for (index, user) in std::mem::take(&mut self.users).into_iter().enumerate() {
            let is_taken = taken.is_some_and(|taken| index <= taken);
            if user.is_empty() && !is_taken || self.run.active && !is_taken && !user.typed.is_empty() {
                waiting.push(user);
            } else {
                self.show_user(user, out);
            }
        }
        self.users = waiting;
    }

    /// Whether a message is the last prompt once more, which follows on a compaction that makes room for it.
    fn is_said_again(&self, user: &PendingUser) -> bool {
        self.run.compaction == Compaction::MakesRoom && !user.typed.is_empty() && user.texts() == self.last_said
    }

    fn show_user(&mut self, user: PendingUser, out: &mut Drafts) {
        if self.is_said_again(&user) {
            self.run.compaction = Compaction::Automatic;
            self.messages.insert(user.id, Known::SaidAgain);
            return out.dropped(SAID_AGAIN);
        }
        self.messages.insert(user.id.clone(), Known::ShownUser);
        self.begun = true;
        let mut is_silent = false;
        if !user.typed.is_empty() {
            self.last_said = user.texts();
            let (model, agent) = (user.model, user.agent);
            is_silent = self.say_as_user(&user.id, user.typed, model, agent, out);
        } else if let Some(prompt) = self.shell_taken() {
            self.run.turn_open = true;
            self.run.failed_early = false;
            out.session(self.id.as_str()).prompt_accepted(Some(prompt));
        }
        for part in user.added {
            self.show_added(part, out);
        }
        if is_silent && !self.run.active {
            self.end_turn(out);
        }
    }

    /// Says what a user typed and attached, in a new turn if the agent is done with the one before. True if nobody is
    /// to answer it.
    fn say_as_user(
        &mut self,
        id: &str,
        typed: Vec<UserPart<ContentPart>>,
        model: Option<String>,
        agent: Option<String>,
        out: &mut Drafts,
    ) -> bool {
        let finish = self.run.finish.as_deref().map(Finish::from_word);
        let answered = finish.is_some_and(|finish| finish != Finish::GoesOn);
        if self.run.turn_open && self.run.active && (answered || self.run.idle || self.is_cut_off()) {
            self.end_turn(out);
        }
        if !self.run.turn_open {
            out.session(self.id.as_str()).synthetic().turn_started(None, turn_metadata(model, agent));
        }
        self.run.turn_open = true;
        self.run.failed_early = false;
        self.failures_before.clear();
        // The payload with the user's words is the message's, not that of an attachment.
        let is_text = |part: &&mut UserPart<ContentPart>| matches!(part.content, ContentPart::Text { .. });
        let mut typed = typed;
        let raw = match typed.iter_mut().find(is_text) {
            Some(words) => words.raw.take(),
            None => typed.first_mut().and_then(|part| part.raw.take()),
        };
        let mut content = Vec::with_capacity(typed.len());
        for part in typed {
            self.shown_parts.insert(part.id, ());
            content.push(part.content);
        }
        let repeated = self.repeated(id, &content).unwrap_or_default();
        let mut message = UserMessage::new(content).native_id(id).in_message(id).raw(raw);
        if let Some(name) = repeated.name {
            message = message.echo_of(name);
        }
        out.session(self.id.as_str()).user_message(id, message);
        repeated.is_silent
    }
}

/// How the words begin that stand for an image or a document where a prompt is said again.
const STANDS_IN: &str = "[Attached ";
/// It is shown with the rest of the message.
const WAITS: &str = "a user message's part, shown with the message";

/// A file that a user attached, or that a tool gives: an image, or the name of something else.
pub(super) fn file(
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

/// The path of a `file:` URL, without the lines it asks for.
fn local_path(url: &str) -> String {
    url.split('?').next().unwrap_or(url).to_owned()
}

pub(super) fn file_part(part: FilePart) -> ContentPart {
    file(part.mime, part.url, part.filename, part.source)
}

/// A piece of work that the user gives to a sub-agent.
pub(super) fn subtask(part: SubtaskPart) -> ContentPart {
    ContentPart::text(part.prompt.or(part.description).unwrap_or_default())
}

/// The name of an agent that the text mentions.
pub(super) fn mentioned(name: Option<&str>) -> ContentPart {
    ContentPart::Json { json: json!({ "agent": name }) }
}

/// A part of a prompt as the host sends it; `None` for what the user did not say.
pub(super) fn prompt_part(part: PromptPart) -> Option<ContentPart> {
    match part {
        PromptPart::Text(text) if text.synthetic == Some(true) => None,
        PromptPart::Text(text) => Some(ContentPart::text(text.text.unwrap_or_default())),
        PromptPart::File(part) => Some(file(part.mime, part.url, part.filename, part.source)),
        PromptPart::Agent(agent) => Some(mentioned(agent.name.as_deref())),
        PromptPart::Subtask(task) => Some(ContentPart::text(task.prompt.or(task.description).unwrap_or_default())),
        PromptPart::Unknown { .. } => None,
    }
}

/// A file beside a prompt of the v2 API.
pub(super) fn attachment(file: PromptFileAttachment) -> ContentPart {
    self::file(file.mime, file.uri, file.name, None)
}

/// A prompt of the v2 API as content.
pub(super) fn next_prompt(prompt: interlingua_native::opencode::Prompt) -> Vec<ContentPart> {
    let mut content = vec![ContentPart::text(prompt.text.unwrap_or_default())];
    content.extend(prompt.files.into_iter().flatten().map(attachment));
    content.extend(prompt.agents.into_iter().flatten().map(|agent| mentioned(agent.name.as_deref())));
    content
}

/// The key of a prompt that the host sent as this request.
pub(super) fn prompt_key(call: u64) -> Key {
    format!("call:{call}").into()
}
