//! OpenCode's events as drafts.
//!
//! OpenCode is an HTTP server: what the host wants goes in as requests, what happens comes out as server-sent events
//! that all clients share. Each names its session; a child session is a sub-agent's. A message is announced, then its
//! parts, each of which is said again whenever it changes. A turn is over when the session is idle.
//!
//! Three generations are spoken: the current one, the one up to 1.1 in which text rides on `message.part.updated`, and
//! the `session.next.*` of the v2 API.

mod changes;
mod compaction;
mod failures;
mod finish;
mod http;
mod inputs;
mod kinds;
mod messages;
mod next;
mod next_names;
mod next_tools;
mod notices;
mod outputs;
mod parts;
mod patch;
mod requests;
mod retries;
mod sent;
mod session;
mod tools;
mod usage;
mod users;
mod wire;

#[cfg(test)]
mod tests;

use foldhash::HashMap;
use interlingua_native::Union as _;
use interlingua_native::opencode::Event;

use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Launch};
use http::Calls;
use kinds::McpServers;
use requests::Asked;
use session::Sessions;
use wire::Line;

/// Who could not read a payload.
const HERE: &str = "opencode";

/// Sent so that the connection stays open.
const KEEP_ALIVE: &str = "keep-alive";
/// What the server finds when it starts or looks again: plugins, models, integrations, references, tools.
const INVENTORY: &str = "the server's inventory";
/// A state that other payloads tell, or told before.
const STATE_ECHO: &str = "state echo";
/// A part that has no text yet; it is shown with its first words.
const EMPTY_PART: &str = "a part that is still empty";
/// A fork copies messages into the new session.
const HISTORY: &str = "history that a fork replays";
/// A compaction that makes room for a prompt says it again.
const SAID_AGAIN: &str = "prompt that is said again after a compaction";
/// What is still said of a session that is gone.
const DELETED: &str = "last words of a deleted session";
/// `sync` events repeat the others for stores.
const SYNC: &str = "sync duplicate";
/// Files that changed on disk: tools tell their own changes.
const FILES: &str = "file system echo";
/// Terminals and screens are other clients' own.
const CLIENTS: &str = "another client's terminal or screen";
/// The answer to a request of the host's own.
const ANSWER: &str = "answer to the host's own request";
/// The interrupt itself is known.
const INTERRUPT: &str = "marker that repeats an interrupt";
/// A failure that was told before.
const TOLD: &str = "failure that was told before";

/// Turns what OpenCode says into drafts.
#[derive(Debug, Default)]
pub struct OpenCodeConverter {
    sessions: Sessions,
    calls: Calls,
    /// Permissions and questions that are not answered.
    asked: HashMap<String, Asked>,
    mcp: McpServers,
}

impl Converter for OpenCodeConverter {
    fn agent(&self) -> &'static str {
        HERE
    }

    fn observe_launch(&mut self, launch: &Launch, _out: &mut Drafts) {
        self.sessions.version.clone_from(&launch.version);
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Received(line) => self.received(line, out),
            Input::Request { call, method, path, body } => self.requested(call, method, path, body, out),
            Input::Reply { call, status, body } => self.replied(call, status, body, out),
            Input::Exit { .. } => self.gone(out),
            // The server has no standard input, and its standard error is kept by the sequencer.
            Input::Sent(_) | Input::Stderr(_) | Input::Unreadable { .. } | Input::Close => {}
        }
    }
}

impl OpenCodeConverter {
    fn received(&mut self, line: &str, out: &mut Drafts) {
        match wire::read(line) {
            Ok(Line { event: Some(event), losses, text }) => {
                if is_of_v2(&event)
                    && let Some(time) = wire::timestamp(&text)
                {
                    out.set_payload_time(time);
                }
                if self.sessions.any_deleted && wire::session(&text).is_some_and(|id| self.sessions.is_deleted(&id)) {
                    return out.dropped(DELETED);
                }
                self.event(event, &text, out);
                report_losses("opencode", &losses, out);
            }
            Ok(Line { event: None, .. }) => out.dropped(SYNC),
            Err(error) => out.current_session().unparsed(HERE, error.reason, error.tag),
        }
    }

    /// The table of everything that OpenCode says, in the order of its schema. `text` is the event's own, `line` the
    /// payload that it came in.
    #[allow(clippy::too_many_lines, clippy::match_same_arms, reason = "ninety variants in the order of the schema")]
    fn event(&mut self, event: Event, text: &str, out: &mut Drafts) {
        match event {
            Event::ModelsDevRefreshed(_)
            | Event::IntegrationUpdated(_)
            | Event::IntegrationConnectionUpdated(_)
            | Event::CatalogUpdated(_) => out.dropped(INVENTORY),
            Event::SessionCreated(event) => self.session_created(event.properties, out),
            Event::SessionUpdated(event) => self.session_updated(event.properties, out),
            Event::SessionDeleted(event) => self.session_deleted(event.properties, out),
            Event::MessageUpdated(event) => self.message_updated(event.properties, out),
            Event::MessageRemoved(event) => self.message_removed(event.properties, out),
            Event::MessagePartUpdated(event) => self.part_updated(event.properties, text, out),
            Event::MessagePartRemoved(event) => self.part_removed(event.properties, out),
            Event::SessionNextAgentSwitched(event) => self.next_agent(event.properties, out),
            Event::SessionNextModelSwitched(event) => self.next_model(event.properties, out),
            Event::SessionNextMoved(event) => self.next_moved(event.properties, out),
            Event::SessionNextPrompted(event) => self.next_prompted(event.properties, out),
            // It waits; `session.next.prompt_sent` says when it is taken up.
            Event::SessionNextPromptAdmitted(_) => out.dropped(STATE_ECHO),
            Event::SessionNextContextUpdated(event) => self.next_context(event.properties, out),
            Event::SessionNextSynthetic(event) => self.next_synthetic(event.properties, out),
            Event::SessionNextShellStarted(event) => self.next_shell_started(event.properties, out),
            Event::SessionNextShellEnded(event) => self.next_shell_ended(event.properties, out),
            Event::SessionNextStepStarted(event) => self.next_step_started(event.properties, out),
            Event::SessionNextStepEnded(event) => self.next_step_ended(event.properties, out),
            Event::SessionNextStepFailed(event) => self.next_step_failed(event.properties, out),
            // Both are shown with their first words.
            Event::SessionNextTextStarted(_) => out.dropped(EMPTY_PART),
            Event::SessionNextTextDelta(event) => self.next_text_delta(event.properties, out),
            Event::SessionNextTextEnded(event) => self.next_text_ended(event.properties, out),
            Event::SessionNextReasoningStarted(_) => out.dropped(EMPTY_PART),
            Event::SessionNextReasoningDelta(event) => self.next_reasoning_delta(event.properties, out),
            Event::SessionNextReasoningEnded(event) => self.next_reasoning_ended(event.properties, out),
            Event::SessionNextToolInputStarted(event) => self.next_input_started(event.properties, out),
            Event::SessionNextToolInputDelta(event) => self.next_input_delta(event.properties, out),
            // The call itself follows, with the same arguments.
            Event::SessionNextToolInputEnded(_) => out.dropped(STATE_ECHO),
            Event::SessionNextToolCalled(event) => self.next_tool_called(event.properties, out),
            Event::SessionNextToolProgress(event) => self.next_tool_progress(event.properties, out),
            Event::SessionNextToolSuccess(event) => self.next_tool_success(event.properties, out),
            Event::SessionNextToolFailed(event) => self.next_tool_failed(event.properties, out),
            Event::SessionNextRetried(event) => self.next_retried(event.properties, out),
            Event::SessionNextCompactionStarted(event) => self.next_compaction_started(event.properties, out),
            Event::SessionNextCompactionDelta(event) => self.next_compaction_delta(event.properties, out),
            Event::SessionNextCompactionEnded(event) => self.next_compaction_ended(event.properties, out),
            Event::SessionNextRevertStaged(event) => self.next_revert_staged(event.properties, out),
            Event::SessionNextRevertCleared(event) => self.next_revert_cleared(event.properties, out),
            Event::SessionNextRevertCommitted(event) => self.next_revert_committed(event.properties, out),
            Event::MessagePartDelta(event) => self.part_delta(event.properties, out),
            // The changes of the session so far: tools tell theirs as they make them.
            Event::SessionDiff(_) => out.dropped(STATE_ECHO),
            Event::SessionError(event) => self.session_error(event.properties, out),
            Event::InstallationUpdated(event) => notices::installation_updated(event.properties, out),
            Event::InstallationUpdateAvailable(event) => notices::update_available(event.properties, out),
            Event::FileEdited(_) => out.dropped(FILES),
            Event::ReferenceUpdated(_) => out.dropped(INVENTORY),
            Event::PermissionV2Asked(event) => self.permission_v2_asked(event.properties, out),
            Event::PermissionV2Replied(event) => self.permission_v2_replied(event.properties, out),
            Event::PluginAdded(_) => out.dropped(INVENTORY),
            Event::ProjectDirectoriesUpdated(_) => out.dropped(STATE_ECHO),
            Event::FileWatcherUpdated(_) => out.dropped(FILES),
            Event::PtyCreated(_) | Event::PtyUpdated(_) | Event::PtyExited(_) | Event::PtyDeleted(_) => {
                out.dropped(CLIENTS);
            }
            Event::QuestionV2Asked(event) => self.question_v2_asked(event.properties, out),
            Event::QuestionV2Replied(event) => self.question_v2_replied(event.properties, out),
            Event::QuestionV2Rejected(event) => self.question_v2_rejected(event.properties, out),
            Event::TodoUpdated(event) => self.todo_updated(event.properties, out),
            Event::LspUpdated(_) => out.dropped(STATE_ECHO),
            Event::PermissionAsked(event) => self.permission_requested(event.properties, out),
            Event::PermissionReplied(event) => self.permission_replied(event.properties, text, out),
            Event::TuiPromptAppend(_) | Event::TuiCommandExecute(_) => out.dropped(CLIENTS),
            Event::TuiToastShow(event) => notices::toast(event.properties, out),
            Event::TuiSessionSelect(_) => out.dropped(CLIENTS),
            Event::McpToolsChanged(event) => {
                if let Some(server) = event.properties.and_then(|properties| properties.server) {
                    self.mcp.add(server);
                }
                out.dropped(INVENTORY);
            }
            Event::McpBrowserOpenFailed(event) => notices::browser_open_failed(event.properties, out),
            Event::CommandExecuted(event) => self.command_executed(event.properties, out),
            Event::ProjectUpdated(_) => out.dropped(STATE_ECHO),
            Event::SessionStatus(event) => self.session_status(event.properties, text, out),
            Event::SessionIdle(event) => self.session_idle(event.properties, out),
            Event::QuestionAsked(event) => self.question_asked(event.properties, out),
            Event::QuestionReplied(event) => self.question_replied(event.properties, out),
            Event::QuestionRejected(event) => self.question_rejected(event.properties, out),
            Event::SessionCompacted(event) => self.session_compacted(event.properties, out),
            Event::VcsBranchUpdated(event) => notices::branch_updated(event.properties, out),
            Event::WorkspaceReady(event) => notices::workspace_ready(event.properties, out),
            Event::WorkspaceFailed(event) => notices::workspace_failed(event.properties, out),
            Event::WorkspaceStatus(event) => notices::workspace_status(event.properties, out),
            Event::WorktreeReady(event) => notices::worktree_ready(event.properties, out),
            Event::WorktreeFailed(event) => notices::worktree_failed(event.properties, out),
            Event::ServerConnected(_) => out.dropped(STATE_ECHO),
            Event::GlobalDisposed(_) => notices::disposed(None, out),
            Event::ServerInstanceDisposed(event) => {
                notices::disposed(event.properties.and_then(|properties| properties.directory), out);
            }
            Event::ServerHeartbeat(_) => out.dropped(KEEP_ALIVE),
            Event::Unknown { tag, raw } => self.older_event(&tag, &raw, out),
        }
    }
}

/// Whether it is one of the `session.next.*` events, which tell their time.
fn is_of_v2(event: &Event) -> bool {
    match event {
        Event::Unknown { tag, .. } => tag.starts_with("session.next."),
        known => known.variant().starts_with("SessionNext"),
    }
}

/// A payload of a known type in which something is missing that it cannot be understood without.
fn incomplete(tag: &str, out: &mut Drafts) {
    out.current_session().unparsed(HERE, "the properties or an id are missing", Some(tag.to_owned()));
}
