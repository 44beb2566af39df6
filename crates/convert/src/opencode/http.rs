//! HTTP requests of the host and the server's replies: prompts, answers, interrupts.

use foldhash::HashMap;
use interlingua_native::opencode::{
    CommandBody, LocationRef, Message, MessageReply, Part, PermissionReplyBody, PromptBody, QuestionReplyBody,
    Session as Info, ShellBody, UserMessage,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{ContentPart, ErrorCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::messages::MessageState;
use super::prompts::SentPrompt;
use super::requests::Reply;
use super::user_messages::{file_content, prompt_key, prompt_part, v2_prompt_content};
use super::{HOST_RESPONSE, LOCATION, OpenCodeConverter, REPEATED_FAILURE};
use crate::losses::report_losses;
use crate::{Drafts, Failure, Key, PromptDraft, error_code_for_status};

/// Number of requests that may be without a reply.
const MAX_PENDING_REQUESTS: usize = 1024;

/// Requests without a reply.
#[derive(Debug, Default)]
pub(super) struct HttpRequests {
    pending: HashMap<u64, HttpRequest>,
}

#[derive(Debug)]
struct HttpRequest {
    line: String,
    session: Option<String>,
    kind: HttpRequestKind,
}

/// Purpose of a request.
#[derive(Debug)]
enum HttpRequestKind {
    /// Creates a session, as a child of `parent` if there is one.
    CreateSession {
        parent: Option<String>,
    },
    /// Prompt, command or shell command.
    Prompt {
        key: Key,
    },
    PermissionReply {
        request: String,
        reply: Reply,
    },
    QuestionReply {
        request: String,
        answers: Vec<Vec<String>>,
    },
    QuestionReject {
        request: String,
    },
    ListMcpServers,
    AddMcpServer {
        name: Option<String>,
    },
    Other,
}

impl HttpRequests {
    /// Whether a pending request of the host creates this session. Then it is not a sub-agent.
    pub(super) fn creates(&self, info: &Info) -> bool {
        info.parent_id.is_some()
            && self.pending.values().any(|request| match &request.kind {
                HttpRequestKind::CreateSession { parent } => *parent == info.parent_id,
                _ => false,
            })
    }
}

impl OpenCodeConverter {
    pub(super) fn handle_request(&mut self, call: u64, method: &str, path: &str, body: Option<&str>, out: &mut Drafts) {
        let route = path.split(['?', '#']).next().unwrap_or(path);
        let segments: Vec<&str> = route.split('/').filter(|segment| !segment.is_empty()).collect();
        // The v2 API has the same routes below `/api`.
        let (is_v2, segments) = match segments.as_slice() {
            ["api", rest @ ..] => (true, rest),
            all => (false, all),
        };
        let session = match segments {
            ["session", id, ..] if id.starts_with("ses") => Some((*id).to_owned()),
            _ => None,
        };
        let kind = match (method, segments) {
            ("POST", ["session"]) => HttpRequestKind::CreateSession { parent: parse_parent(body) },
            ("POST", ["session", id, "message" | "prompt_async"]) if !is_v2 => {
                self.prompt_request_sent(id, call, parse_prompt(body), out)
            }
            ("POST", ["session", id, "prompt"]) if is_v2 => {
                self.prompt_request_sent(id, call, parse_v2_prompt(body), out)
            }
            ("POST", ["session", id, "command"]) => self.prompt_request_sent(id, call, parse_command(body), out),
            ("POST", ["session", id, "shell"]) => self.shell_command_sent(id, call, body, out),
            ("POST", ["session", id, "abort" | "interrupt"]) => self.interrupt_requested(id, out),
            (
                "POST",
                ["session", _, "permissions", request]
                | ["permission", request, "reply"]
                | ["session", _, "permission", request, "reply"],
            ) => {
                HttpRequestKind::PermissionReply { request: (*request).to_owned(), reply: parse_permission_reply(body) }
            }
            ("POST", ["question", request, "reply"] | ["session", _, "question", request, "reply"]) => {
                let answers = body.and_then(|body| QuestionReplyBody::decode(body).ok()?.value.answers);
                HttpRequestKind::QuestionReply { request: (*request).to_owned(), answers: answers.unwrap_or_default() }
            }
            ("POST", ["question", request, "reject"] | ["session", _, "question", request, "reject"]) => {
                HttpRequestKind::QuestionReject { request: (*request).to_owned() }
            }
            ("GET", ["mcp"]) => HttpRequestKind::ListMcpServers,
            ("POST", ["mcp"]) => HttpRequestKind::AddMcpServer { name: parse_server_name(body) },
            _ => HttpRequestKind::Other,
        };
        if self.http_requests.pending.len() < MAX_PENDING_REQUESTS {
            self.http_requests.pending.insert(call, HttpRequest { line: [method, " ", route].concat(), session, kind });
        }
    }

    /// The host sends a prompt. OpenCode will echo it.
    fn prompt_request_sent(
        &mut self,
        id: &str,
        call: u64,
        request: Option<PromptRequest>,
        out: &mut Drafts,
    ) -> HttpRequestKind {
        let Some(PromptRequest { id: prompt_id, prompt, no_reply }) = request else {
            return HttpRequestKind::Other;
        };
        let key = prompt_id.as_deref().map_or_else(|| prompt_key(call), Key::from);
        let session = self.sessions.get_or_insert(id);
        // Prompts to a sub-agent are shown only by their echo.
        if !session.is_child {
            session.prompt_sent(
                SentPrompt::message(key.clone(), &prompt, no_reply),
                prompt.id(&key).expect_echo(),
                out,
            );
        }
        HttpRequestKind::Prompt { key }
    }

    /// The host sends a shell command, which runs without the agent.
    fn shell_command_sent(&mut self, id: &str, call: u64, body: Option<&str>, out: &mut Drafts) -> HttpRequestKind {
        let command = body.and_then(|body| ShellBody::decode(body).ok()?.value.command);
        let (Some(command), key) = (command, prompt_key(call)) else {
            return HttpRequestKind::Other;
        };
        let sent = SentPrompt::shell(key.clone(), &command);
        self.sessions.get_or_insert(id).prompt_sent(sent, PromptDraft::text(command).id(&key), out);
        HttpRequestKind::Prompt { key }
    }

    fn interrupt_requested(&mut self, id: &str, out: &mut Drafts) -> HttpRequestKind {
        if let Some(session) = self.sessions.map.get_mut(id).filter(|session| session.is_started) {
            session.turn.interrupt_requested = session.turn.is_open;
            session.turn.interrupted_before_echo = !session.turn.is_open && !session.sent_prompts.is_empty();
            out.session(id).interrupt_requested();
        }
        HttpRequestKind::Other
    }

    pub(super) fn handle_reply(&mut self, call: u64, status: u16, body: Option<&str>, out: &mut Drafts) {
        let request = self.http_requests.pending.remove(&call);
        if status >= 400 || is_web_page(body) {
            return self.request_refused(request, status, body, out);
        }
        out.dropped(HOST_RESPONSE);
        let Some(HttpRequest { kind, session, .. }) = request else {
            return;
        };
        match kind {
            HttpRequestKind::CreateSession { .. } => self.session_created_by_host(body, out),
            HttpRequestKind::Prompt { key } => self.prompt_answered(session, &key, body, out),
            // After a reply without a body, an event reports the outcome.
            _ if body.is_none() => {}
            HttpRequestKind::PermissionReply { request, reply } => self.permission_answered(None, &request, reply, out),
            HttpRequestKind::QuestionReply { request, answers } => self.question_answered(&request, answers, out),
            HttpRequestKind::QuestionReject { request } => self.question_dismissed(&request, out),
            HttpRequestKind::ListMcpServers => {
                let servers = body.and_then(|body| serde_json::from_str::<HashMap<String, Json>>(body).ok());
                if let Some(servers) = servers {
                    self.mcp_servers.set_all(servers.into_keys());
                }
            }
            HttpRequestKind::AddMcpServer { name } => {
                if let Some(name) = name {
                    self.mcp_servers.add(name);
                }
            }
            HttpRequestKind::Other => {}
        }
        out.dropped(HOST_RESPONSE);
    }

    /// The host has created a session. An event may have announced it before.
    fn session_created_by_host(&mut self, body: Option<&str>, out: &mut Drafts) {
        /// Response body of the v2 API.
        #[derive(Deserialize)]
        struct V2Response {
            data: Json,
        }
        #[derive(Deserialize)]
        struct WithLocation {
            location: LocationRef,
        }
        let Some(body) = body else { return };
        let data = serde_json::from_str::<V2Response>(body).ok();
        let body = data.as_ref().map_or(body, |data| data.data.get());
        if let Ok(decoded) = Info::decode(body) {
            let mut info = decoded.value;
            if info.directory.is_none() {
                info.directory = serde_json::from_str::<WithLocation>(body).ok().and_then(|it| it.location.directory);
            }
            // The host created it, so it is a session even if it has a parent.
            info.parent_id = None;
            self.register_session(&info, out);
            // The session of the v2 API has other fields, which would all be losses.
            if data.is_none() {
                report_losses(LOCATION, &decoded.losses, out);
            }
        }
    }

    /// The reply to a prompt contains the agent's last message. It is converted if no event reported the message:
    /// events are sent only to clients of the same directory.
    fn prompt_answered(&mut self, session: Option<String>, key: &Key, body: Option<&str>, out: &mut Drafts) {
        #[derive(Deserialize)]
        struct ReplyInfo {
            info: Message,
        }
        let Some(id) = session.filter(|id| !self.sessions.is_deleted(id)) else {
            return;
        };
        self.sessions.get_or_insert(&id).confirm_exists(out);
        let Some(reply) = body.and_then(|body| MessageReply::decode(body).ok()) else { return };
        let MessageReply { info: Some(info), parts, .. } = reply.value else { return };
        let session = self.sessions.get_or_insert(&id);
        // The reply to a prompt with `noReply` contains the user message.
        match body.and_then(|body| serde_json::from_str::<ReplyInfo>(body).ok()) {
            Some(ReplyInfo { info: Message::Assistant(_) }) => session.forget_prompt(key),
            Some(ReplyInfo { info: Message::User(info) }) => return self.show_no_reply_prompt(&id, *info, parts, out),
            Some(ReplyInfo { info: Message::Unknown { .. } }) | None => return,
        }
        let is_known = session.messages.get(&info.id).is_some() || session.turn.has_answer;
        if is_known || info.id.is_empty() {
            return;
        }
        out.session(&id).prompt_accepted(Some(key.clone()));
        session.turn.is_open = true;
        if let Some(user) = &info.parent_id {
            // The prompt is shown as it was sent. Events about it that come later are dropped.
            session.pending_user_messages.retain(|pending| pending.id != *user);
            session.messages.insert(user.clone(), MessageState::SentUser);
        }
        let completed = info.time.as_ref().and_then(|time| time.completed);
        let mut announced = info.clone();
        announced.error = None;
        if let Some(time) = &mut announced.time {
            time.completed = None;
        }
        session.agent_updated(announced, out);
        for part in parts.into_iter().flatten() {
            self.handle_part(&id, part, None, out);
        }
        let session = self.sessions.get_or_insert(&id);
        let mut info = info;
        if completed.is_none()
            && let Some(time) = &mut info.time
        {
            time.completed = time.created;
        }
        session.agent_updated(info, out);
        session.end_turn(out);
        report_losses(LOCATION, &reply.losses, out);
    }

    /// Shows a prompt with `noReply` as this user message, which the events repeat.
    fn show_no_reply_prompt(&mut self, id: &str, info: UserMessage, parts: Option<Vec<Part>>, out: &mut Drafts) {
        let session = self.sessions.get_or_insert(id);
        if matches!(session.messages.get(&info.id), Some(MessageState::ShownUser)) {
            return;
        }
        session.user_updated(info, out);
        for part in parts.into_iter().flatten() {
            self.handle_part(id, part, None, out);
        }
        self.sessions.get_or_insert(id).show_user_messages(None, out);
    }

    /// A request was refused, or its path does not exist. The server answers unknown paths with its web page.
    fn request_refused(&mut self, request: Option<HttpRequest>, status: u16, body: Option<&str>, out: &mut Drafts) {
        let (line, id, kind) = match request {
            Some(request) => (request.line, request.session, request.kind),
            None => ("a request".to_owned(), None, HttpRequestKind::Other),
        };
        let (code, message) = if status < 400 {
            (ErrorCode::InvalidRequest, "there is no such path; the server answered with its web page".to_owned())
        } else {
            (error_code_for_status(status), error_message(body).unwrap_or_else(|| format!("HTTP status {status}")))
        };
        if let (HttpRequestKind::Prompt { key }, Some(id)) = (&kind, &id)
            && self.prompt_rejected(id, key, &message, out)
        {
            return out.dropped(REPEATED_FAILURE);
        }
        let known_id = id.filter(|id| self.sessions.map.get(id).is_some_and(|session| session.is_started));
        let failure =
            Failure::new(code, message).status(Some(status)).native(Some(json!({ "request": line }))).outside_turn();
        out.session_or_current(known_id.as_deref()).failed(failure);
    }

    /// A prompt was refused with this message. Returns true if its failure was already reported.
    fn prompt_rejected(&mut self, id: &str, key: &Key, message: &str, out: &mut Drafts) -> bool {
        let session = self.sessions.get_or_insert(id);
        session.forget_prompt(key);
        if !session.is_started {
            if session.sent_prompts.is_empty() {
                self.sessions.map.remove(id);
            }
            return false;
        }
        out.session(id).prompt_rejected(key.clone());
        if session.prompt_has_failed() {
            if std::mem::take(&mut session.turn.failed_before_echo) {
                session.end_turn(out);
            }
            return true;
        }
        if session.turn.is_open {
            session.turn.reported_failures.push(message.to_owned());
        }
        false
    }

    /// The agent has exited, so no reply will come. Prompts to sessions that no event has named are shown now.
    pub(super) fn process_exited(&mut self, out: &mut Drafts) {
        let mut pending: Vec<(u64, HttpRequest)> =
            std::mem::take(&mut self.http_requests.pending).into_iter().collect();
        pending.sort_unstable_by_key(|(call, _)| *call);
        for (_, request) in pending {
            if let (HttpRequestKind::Prompt { .. }, Some(id)) = (request.kind, request.session) {
                self.sessions.get_or_insert(&id).confirm_exists(out);
            }
        }
        self.pending_requests.clear();
        for session in self.sessions.map.values_mut() {
            session.reset_process_state();
        }
    }
}

fn parse_parent(body: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(rename = "parentID")]
        parent: Option<String>,
    }
    serde_json::from_str::<Body>(body?).ok()?.parent
}

fn parse_server_name(body: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        name: Option<String>,
    }
    serde_json::from_str::<Body>(body?).ok()?.name
}

/// Prompt in the body of a request.
struct PromptRequest {
    /// Message id that the host has chosen.
    id: Option<String>,
    prompt: PromptDraft,
    /// The agent only stores the prompt and does not answer it.
    no_reply: bool,
}

fn parse_prompt(body: Option<&str>) -> Option<PromptRequest> {
    let body = PromptBody::decode(body?).ok()?.value;
    let content: Vec<ContentPart> = body.parts?.into_iter().filter_map(prompt_part).collect();
    Some(PromptRequest {
        id: body.message_id,
        prompt: PromptDraft::new(content),
        no_reply: body.no_reply == Some(true),
    })
}

fn parse_v2_prompt(body: Option<&str>) -> Option<PromptRequest> {
    #[derive(Deserialize)]
    struct Body {
        id: Option<String>,
        prompt: interlingua_native::opencode::Prompt,
    }
    let body: Body = serde_json::from_str(body?).ok()?;
    Some(PromptRequest { id: body.id, prompt: PromptDraft::new(v2_prompt_content(body.prompt)), no_reply: false })
}

fn parse_command(body: Option<&str>) -> Option<PromptRequest> {
    let body = CommandBody::decode(body?).ok()?.value;
    let text = format!("/{} {}", body.command?, body.arguments.unwrap_or_default());
    let mut content = vec![ContentPart::text(text.trim_end())];
    content.extend(
        body.parts.into_iter().flatten().map(|part| file_content(part.mime, part.url, part.filename, part.source)),
    );
    Some(PromptRequest { id: body.message_id, prompt: PromptDraft::new(content), no_reply: false })
}

/// Reply to a permission, in the current or the older field.
fn parse_permission_reply(body: Option<&str>) -> Reply {
    #[derive(Deserialize)]
    struct LegacyBody {
        response: Option<String>,
    }
    let reply = body.and_then(|body| PermissionReplyBody::decode(body).ok()?.value.reply);
    match reply {
        Some(reply) => Reply::parse(Some(reply.as_str())),
        None => Reply::parse(body.and_then(|body| serde_json::from_str::<LegacyBody>(body).ok()?.response).as_deref()),
    }
}

fn is_web_page(body: Option<&str>) -> bool {
    body.is_some_and(|body| {
        let start = body.trim_start_matches('"').get(..9).unwrap_or_default();
        start.eq_ignore_ascii_case("<!doctype")
    })
}

/// Error message in a response body.
fn error_message(body: Option<&str>) -> Option<String> {
    let body: Value = serde_json::from_str(body?).ok()?;
    let message = body.pointer("/data/message").or_else(|| body.get("message")).or_else(|| body.get("name"));
    match message.or(Some(&body)) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    }
}
