//! What the host asks over HTTP: prompts, answers, interrupts; and what it is answered.

use foldhash::HashMap;
use interlingua_native::opencode::{
    CommandBody, LocationRef, Message, MessageReply, Part, PermissionReplyBody, PromptBody, QuestionReplyBody,
    Session as Info, ShellBody, UserMessage,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{ContentPart, ErrorCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::messages::Known;
use super::requests::Reply;
use super::sent::Sent;
use super::users::{file, next_prompt, prompt_key, prompt_part};
use super::{ANSWER, OpenCodeConverter, TOLD};
use crate::losses::report_losses;
use crate::{Drafts, Failure, Key, PromptDraft, error_code_for_status};

/// So many requests may wait for their answers.
const MOST_WAITING: usize = 1024;

/// The requests that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: HashMap<u64, Call>,
}

/// A request.
#[derive(Debug)]
struct Call {
    line: String,
    session: Option<String>,
    what: What,
}

/// What a request is for.
#[derive(Debug)]
enum What {
    /// A session is to be made, below another if that is named.
    Create {
        parent: Option<String>,
    },
    /// Something for the agent to do.
    Prompt {
        key: Key,
    },
    Permission {
        request: String,
        reply: Reply,
    },
    Answer {
        request: String,
        answers: Vec<Vec<String>>,
    },
    Refuse {
        request: String,
    },
    /// The MCP servers are asked for.
    Servers,
    /// An MCP server is added.
    AddServer {
        name: Option<String>,
    },
    Other,
}

impl Calls {
    /// Whether the host asked for this session itself, so that it is no sub-agent's.
    pub(super) fn made(&self, info: &Info) -> bool {
        info.parent_id.is_some()
            && self.waiting.values().any(|call| match &call.what {
                What::Create { parent } => *parent == info.parent_id,
                _ => false,
            })
    }
}

impl OpenCodeConverter {
    pub(super) fn requested(&mut self, call: u64, method: &str, path: &str, body: Option<&str>, out: &mut Drafts) {
        let route = path.split(['?', '#']).next().unwrap_or(path);
        let segments: Vec<&str> = route.split('/').filter(|segment| !segment.is_empty()).collect();
        // The v2 API has the same routes below `/api`.
        let (v2, segments) = match segments.as_slice() {
            ["api", rest @ ..] => (true, rest),
            all => (false, all),
        };
        let session = match segments {
            ["session", id, ..] if id.starts_with("ses") => Some((*id).to_owned()),
            _ => None,
        };
        let what = match (method, segments) {
            ("POST", ["session"]) => What::Create { parent: parent(body) },
            ("POST", ["session", id, "message" | "prompt_async"]) if !v2 => {
                self.prompt_sent(id, call, prompt(body), out)
            }
            ("POST", ["session", id, "prompt"]) if v2 => self.prompt_sent(id, call, v2_prompt(body), out),
            ("POST", ["session", id, "command"]) => self.prompt_sent(id, call, command(body), out),
            ("POST", ["session", id, "shell"]) => self.shell(id, call, body, out),
            ("POST", ["session", id, "abort" | "interrupt"]) => self.interrupt_requested(id, out),
            (
                "POST",
                ["session", _, "permissions", request]
                | ["permission", request, "reply"]
                | ["session", _, "permission", request, "reply"],
            ) => What::Permission { request: (*request).to_owned(), reply: permission(body) },
            ("POST", ["question", request, "reply"] | ["session", _, "question", request, "reply"]) => {
                let answers = body.and_then(|body| QuestionReplyBody::decode(body).ok()?.value.answers);
                What::Answer { request: (*request).to_owned(), answers: answers.unwrap_or_default() }
            }
            ("POST", ["question", request, "reject"] | ["session", _, "question", request, "reject"]) => {
                What::Refuse { request: (*request).to_owned() }
            }
            ("GET", ["mcp"]) => What::Servers,
            ("POST", ["mcp"]) => What::AddServer { name: server_name(body) },
            _ => What::Other,
        };
        if self.calls.waiting.len() < MOST_WAITING {
            self.calls.waiting.insert(call, Call { line: [method, " ", route].concat(), session, what });
        }
    }

    /// A message for the agent, which will repeat it.
    fn prompt_sent(&mut self, id: &str, call: u64, asked: Option<Asked>, out: &mut Drafts) -> What {
        let Some(Asked { name, prompt, is_silent }) = asked else {
            return What::Other;
        };
        let key = name.as_deref().map_or_else(|| prompt_key(call), Key::from);
        let session = self.sessions.of(id);
        // A sub-agent's own messages are all there is to show.
        if !session.is_child {
            session.prompt_sent(Sent::message(key.clone(), &prompt, is_silent), prompt.id(&key).expect_echo(), out);
        }
        What::Prompt { key }
    }

    /// A command that the user runs, not the agent.
    fn shell(&mut self, id: &str, call: u64, body: Option<&str>, out: &mut Drafts) -> What {
        let command = body.and_then(|body| ShellBody::decode(body).ok()?.value.command);
        let (Some(command), key) = (command, prompt_key(call)) else {
            return What::Other;
        };
        let sent = Sent::shell(key.clone(), &command);
        self.sessions.of(id).prompt_sent(sent, PromptDraft::text(command).id(&key), out);
        What::Prompt { key }
    }

    fn interrupt_requested(&mut self, id: &str, out: &mut Drafts) -> What {
        if let Some(session) = self.sessions.map.get_mut(id).filter(|session| session.begun) {
            session.run.interrupt_requested = session.run.turn_open;
            session.run.interrupt_early = !session.run.turn_open && !session.sent.is_empty();
            out.session(id).interrupt_requested();
        }
        What::Other
    }

    pub(super) fn replied(&mut self, call: u64, status: u16, body: Option<&str>, out: &mut Drafts) {
        let call = self.calls.waiting.remove(&call);
        if status >= 400 || is_web_page(body) {
            return self.refused(call, status, body, out);
        }
        out.dropped(ANSWER);
        let Some(Call { what, session, .. }) = call else {
            return;
        };
        match what {
            What::Create { .. } => self.created(body, out),
            What::Prompt { key } => self.answered(session, &key, body, out),
            // An answer without words leaves it to the events to say so.
            _ if body.is_none() => {}
            What::Permission { request, reply } => self.permission_answered(None, &request, reply, out),
            What::Answer { request, answers } => self.question_answered(&request, answers, out),
            What::Refuse { request } => self.question_refused(&request, out),
            What::Servers => {
                let servers = body.and_then(|body| serde_json::from_str::<HashMap<String, Json>>(body).ok());
                if let Some(servers) = servers {
                    self.mcp.list(servers.into_keys());
                }
            }
            What::AddServer { name } => {
                if let Some(name) = name {
                    self.mcp.add(name);
                }
            }
            What::Other => {}
        }
        out.dropped(ANSWER);
    }

    /// A session is made. Its events may have told so before.
    fn created(&mut self, body: Option<&str>, out: &mut Drafts) {
        /// What the v2 API answers.
        #[derive(Deserialize)]
        struct Data {
            data: Json,
        }
        #[derive(Deserialize)]
        struct Located {
            location: LocationRef,
        }
        let Some(body) = body else { return };
        let data = serde_json::from_str::<Data>(body).ok();
        let body = data.as_ref().map_or(body, |data| data.data.get());
        if let Ok(decoded) = Info::decode(body) {
            let mut info = decoded.value;
            if info.directory.is_none() {
                info.directory = serde_json::from_str::<Located>(body).ok().and_then(|it| it.location.directory);
            }
            // The host made it, whatever it is below.
            info.parent_id = None;
            self.session_known(&info, out);
            // The v2 API's session has other fields.
            if data.is_none() {
                report_losses("opencode", &decoded.losses, out);
            }
        }
    }

    /// The answer to a prompt holds the agent's last message, which counts if no event told of it: events go only to
    /// those who listen in the same directory.
    fn answered(&mut self, session: Option<String>, key: &Key, body: Option<&str>, out: &mut Drafts) {
        #[derive(Deserialize)]
        struct Whose {
            info: Message,
        }
        let Some(id) = session.filter(|id| !self.sessions.is_deleted(id)) else {
            return;
        };
        self.sessions.of(&id).is_there(out);
        let Some(reply) = body.and_then(|body| MessageReply::decode(body).ok()) else { return };
        let MessageReply { info: Some(info), parts } = reply.value else { return };
        let session = self.sessions.of(&id);
        // A prompt that wants no answer is answered with the user's own message.
        match body.and_then(|body| serde_json::from_str::<Whose>(body).ok()) {
            Some(Whose { info: Message::Assistant(_) }) => session.forget_sent(key),
            Some(Whose { info: Message::User(info) }) => return self.kept(&id, *info, parts, out),
            Some(Whose { info: Message::Unknown { .. } }) | None => return,
        }
        let heard = session.messages.get(&info.id).is_some() || session.run.answered;
        if heard || info.id.is_empty() {
            return;
        }
        out.session(&id).prompt_accepted(Some(key.clone()));
        session.run.turn_open = true;
        if let Some(user) = &info.parent_id {
            // Should the events come after all, it is shown.
            session.users.retain(|pending| pending.id != *user);
            session.messages.insert(user.clone(), Known::SentUser);
        }
        let completed = info.time.as_ref().and_then(|time| time.completed);
        let mut announced = info.clone();
        announced.error = None;
        if let Some(time) = &mut announced.time {
            time.completed = None;
        }
        session.agent_updated(announced, out);
        for part in parts.into_iter().flatten() {
            self.part(&id, part, None, out);
        }
        let session = self.sessions.of(&id);
        let mut info = info;
        if completed.is_none()
            && let Some(time) = &mut info.time
        {
            time.completed = time.created;
        }
        session.agent_updated(info, out);
        session.end_turn(out);
        report_losses("opencode", &reply.losses, out);
    }

    /// A prompt that wants no answer is kept as this message, which the events repeat.
    fn kept(&mut self, id: &str, info: UserMessage, parts: Option<Vec<Part>>, out: &mut Drafts) {
        let session = self.sessions.of(id);
        if matches!(session.messages.get(&info.id), Some(Known::ShownUser)) {
            return;
        }
        session.user_updated(info, out);
        for part in parts.into_iter().flatten() {
            self.part(id, part, None, out);
        }
        self.sessions.of(id).show_users(None, out);
    }

    /// A request is refused, or went to a path that does not exist: the server answers those with its web page.
    fn refused(&mut self, call: Option<Call>, status: u16, body: Option<&str>, out: &mut Drafts) {
        let (line, id, what) = match call {
            Some(call) => (call.line, call.session, call.what),
            None => ("a request".to_owned(), None, What::Other),
        };
        let (code, said) = if status < 400 {
            (ErrorCode::InvalidRequest, "there is no such path; the server answered with its web page".to_owned())
        } else {
            (error_code_for_status(status), said(body).unwrap_or_else(|| format!("HTTP status {status}")))
        };
        if let (What::Prompt { key }, Some(id)) = (&what, &id)
            && self.prompt_rejected(id, key, &said, out)
        {
            return out.dropped(TOLD);
        }
        let known = id.filter(|id| self.sessions.map.get(id).is_some_and(|session| session.begun));
        let failure =
            Failure::new(code, said).status(Some(status)).native(Some(json!({ "request": line }))).outside_turn();
        out.session_or_current(known.as_deref()).failed(failure);
    }

    /// A prompt is refused, in these words. True if that is known because it failed before.
    fn prompt_rejected(&mut self, id: &str, key: &Key, said: &str, out: &mut Drafts) -> bool {
        let session = self.sessions.of(id);
        session.forget_sent(key);
        if !session.begun {
            if session.sent.is_empty() {
                self.sessions.map.remove(id);
            }
            return false;
        }
        out.session(id).prompt_rejected(key.clone());
        if session.has_failed() {
            if std::mem::take(&mut session.run.failed_early) {
                session.end_turn(out);
            }
            return true;
        }
        if session.run.turn_open {
            session.run.failures.push(said.to_owned());
        }
        false
    }

    /// The agent is gone, and with it the answers. Prompts for sessions that nobody spoke of are shown after all.
    pub(super) fn gone(&mut self, out: &mut Drafts) {
        let mut waiting: Vec<(u64, Call)> = std::mem::take(&mut self.calls.waiting).into_iter().collect();
        waiting.sort_unstable_by_key(|(call, _)| *call);
        for (_, call) in waiting {
            if let (What::Prompt { .. }, Some(id)) = (call.what, call.session) {
                self.sessions.of(&id).is_there(out);
            }
        }
        self.asked.clear();
        for session in self.sessions.map.values_mut() {
            session.process_gone();
        }
    }
}

fn parent(body: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(rename = "parentID")]
        parent: Option<String>,
    }
    serde_json::from_str::<Body>(body?).ok()?.parent
}

fn server_name(body: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        name: Option<String>,
    }
    serde_json::from_str::<Body>(body?).ok()?.name
}

/// What a request asks of the agent.
struct Asked {
    /// The name that the host gave it, if it did.
    name: Option<String>,
    prompt: PromptDraft,
    /// It is to be kept in mind, not answered.
    is_silent: bool,
}

fn prompt(body: Option<&str>) -> Option<Asked> {
    let body = PromptBody::decode(body?).ok()?.value;
    let content: Vec<ContentPart> = body.parts?.into_iter().filter_map(prompt_part).collect();
    Some(Asked { name: body.message_id, prompt: PromptDraft::new(content), is_silent: body.no_reply == Some(true) })
}

fn v2_prompt(body: Option<&str>) -> Option<Asked> {
    #[derive(Deserialize)]
    struct Body {
        id: Option<String>,
        prompt: interlingua_native::opencode::Prompt,
    }
    let body: Body = serde_json::from_str(body?).ok()?;
    Some(Asked { name: body.id, prompt: PromptDraft::new(next_prompt(body.prompt)), is_silent: false })
}

fn command(body: Option<&str>) -> Option<Asked> {
    let body = CommandBody::decode(body?).ok()?.value;
    let text = format!("/{} {}", body.command?, body.arguments.unwrap_or_default());
    let mut content = vec![ContentPart::text(text.trim_end())];
    content.extend(body.parts.into_iter().flatten().map(|part| file(part.mime, part.url, part.filename, part.source)));
    Some(Asked { name: body.message_id, prompt: PromptDraft::new(content), is_silent: false })
}

/// The answer to a permission, by its current name or its old one.
fn permission(body: Option<&str>) -> Reply {
    #[derive(Deserialize)]
    struct Old {
        response: Option<String>,
    }
    let reply = body.and_then(|body| PermissionReplyBody::decode(body).ok()?.value.reply);
    match reply {
        Some(reply) => Reply::of(Some(reply.as_str())),
        None => Reply::of(body.and_then(|body| serde_json::from_str::<Old>(body).ok()?.response).as_deref()),
    }
}

fn is_web_page(body: Option<&str>) -> bool {
    body.is_some_and(|body| {
        let start = body.trim_start_matches('"').get(..9).unwrap_or_default();
        start.eq_ignore_ascii_case("<!doctype")
    })
}

/// The server's own words about a refusal.
fn said(body: Option<&str>) -> Option<String> {
    let body: Value = serde_json::from_str(body?).ok()?;
    let message = body.pointer("/data/message").or_else(|| body.get("message")).or_else(|| body.get("name"));
    match message.or(Some(&body)) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    }
}
