//! Converts OpenCode's events and HTTP exchanges to drafts.
//!
//! OpenCode is an HTTP server. The host sends requests; the server publishes events to all clients as server-sent
//! events. Each event names its session; a child session is a sub-agent. A message is announced first, then its parts.
//! A part is sent again whenever it changes. A turn ends when the session becomes idle.
//!
//! Three generations of events are converted: the current one; the one up to 1.1, in which deltas come with
//! `message.part.updated`; and the `session.next.*` events of the v2 API.

#[cfg(feature = "acp")]
pub(crate) mod adapter;
mod changes;
mod compaction;
mod failures;
mod finish;
mod http;
mod inputs;
mod kinds;
mod messages;
mod next;
mod next_keys;
mod next_tools;
mod notices;
mod outputs;
mod parts;
mod patch;
mod prompts;
mod requests;
mod retries;
mod session;
mod tools;
mod turn;
mod usage;
mod user_messages;
mod wire;

#[cfg(test)]
mod tests;

use foldhash::HashMap;
use interlingua_native::Union as _;
use interlingua_native::opencode::Event;

use crate::drop_reason::{HOST_RESPONSE, KEEP_ALIVE, STATE_ECHO};
use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Launch};
use http::HttpRequests;
use kinds::McpServers;
use requests::PendingRequest;
use session::Sessions;
use wire::Line;

/// Id of the agent, and `location` of its `agent.unparsed` events.
const LOCATION: &str = "opencode";

/// Drop reason for what the server discovers: plugins, models, integrations, references, tools.
const INVENTORY: &str = "the server's inventory";
/// Drop reason for a part without text. Its message starts with the first text.
const EMPTY_PART: &str = "empty part";
/// Drop reason for messages that a fork copies into the new session.
const FORK_HISTORY: &str = "history replayed by a fork";
/// Drop reason for a prompt that OpenCode repeats after a compaction has made room for it.
const REPEATED_PROMPT: &str = "prompt repeated after a compaction";
/// Drop reason for events of a session after its deletion.
const DELETED_SESSION: &str = "event of a deleted session";
/// Drop reason for `sync` events, which repeat other events for stores.
const SYNC_DUPLICATE: &str = "sync duplicate";
/// Drop reason for changed files. The tools report their own changes.
const FILE_ECHO: &str = "file system echo";
/// Drop reason for terminals and screens of other clients.
const OTHER_CLIENT: &str = "another client's terminal or screen";
/// Drop reason for the error that reports an interrupt. The interrupt itself is known.
const INTERRUPT_MARKER: &str = "marker that repeats an interrupt";
/// Drop reason for a failure that is reported again.
const REPEATED_FAILURE: &str = "failure that was reported before";

/// Converts the payloads of OpenCode to drafts.
#[derive(Debug, Default)]
pub struct OpenCodeConverter {
    sessions: Sessions,
    http_requests: HttpRequests,
    /// Permission and question requests without an answer, by id.
    pending_requests: HashMap<String, PendingRequest>,
    mcp_servers: McpServers,
}

impl Converter for OpenCodeConverter {
    fn agent(&self) -> &'static str {
        LOCATION
    }

    fn observe_launch(&mut self, launch: &Launch, _out: &mut Drafts) {
        self.sessions.version.clone_from(&launch.version);
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Received(line) => self.handle_received(line, out),
            Input::Request { call, method, path, body } => self.handle_request(call, method, path, body, out),
            Input::Reply { call, status, body } => self.handle_reply(call, status, body, out),
            Input::Exit { .. } => self.process_exited(out),
            // The server has no standard input. The sequencer keeps its standard error.
            Input::Sent(_) | Input::Stderr(_) | Input::Unreadable { .. } | Input::Close => {}
        }
    }
}

impl OpenCodeConverter {
    fn handle_received(&mut self, line: &str, out: &mut Drafts) {
        match wire::parse_line(line) {
            Ok(Line { event: Some(event), losses, text }) => {
                if is_v2_event(&event)
                    && let Some(time) = wire::timestamp(&text)
                {
                    out.set_payload_time(time);
                }
                if self.sessions.has_deleted && wire::session_id(&text).is_some_and(|id| self.sessions.is_deleted(&id))
                {
                    return out.dropped(DELETED_SESSION);
                }
                self.handle_event(event, &text, out);
                report_losses(LOCATION, &losses, out);
            }
            Ok(Line { event: None, .. }) => out.dropped(SYNC_DUPLICATE),
            Err(error) => out.current_session().unparsed(LOCATION, error.reason, error.tag),
        }
    }

    /// Converts an event. The match arms are in the order of the schema. `text` is the JSON of the event.
    #[allow(clippy::too_many_lines, clippy::match_same_arms, reason = "a table in the order of the schema")]
    fn handle_event(&mut self, event: Event, text: &str, out: &mut Drafts) {
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
            Event::SessionNextAgentSwitched(event) => self.next_agent_switched(event.properties, out),
            Event::SessionNextModelSwitched(event) => self.next_model_switched(event.properties, out),
            Event::SessionNextMoved(event) => self.next_moved(event.properties, out),
            Event::SessionNextPrompted(event) => self.next_prompted(event.properties, out),
            // The prompt is queued; `session.next.prompted` reports that the agent starts on it.
            Event::SessionNextPromptAdmitted(_) => out.dropped(STATE_ECHO),
            Event::SessionNextContextUpdated(event) => self.next_context_updated(event.properties, out),
            Event::SessionNextSynthetic(event) => self.next_synthetic(event.properties, out),
            Event::SessionNextShellStarted(event) => self.next_shell_started(event.properties, out),
            Event::SessionNextShellEnded(event) => self.next_shell_ended(event.properties, out),
            Event::SessionNextStepStarted(event) => self.next_step_started(event.properties, out),
            Event::SessionNextStepEnded(event) => self.next_step_ended(event.properties, out),
            Event::SessionNextStepFailed(event) => self.next_step_failed(event.properties, out),
            // Text and reasoning start with their first delta.
            Event::SessionNextTextStarted(_) => out.dropped(EMPTY_PART),
            Event::SessionNextTextDelta(event) => self.next_text_delta(event.properties, out),
            Event::SessionNextTextEnded(event) => self.next_text_ended(event.properties, out),
            Event::SessionNextReasoningStarted(_) => out.dropped(EMPTY_PART),
            Event::SessionNextReasoningDelta(event) => self.next_reasoning_delta(event.properties, out),
            Event::SessionNextReasoningEnded(event) => self.next_reasoning_ended(event.properties, out),
            Event::SessionNextToolInputStarted(event) => self.next_tool_input_started(event.properties, out),
            Event::SessionNextToolInputDelta(event) => self.next_tool_input_delta(event.properties, out),
            // `session.next.tool.called` follows with the same arguments.
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
            // All changes of the session so far. The tools report them one by one.
            Event::SessionDiff(_) => out.dropped(STATE_ECHO),
            Event::SessionError(event) => self.session_error(event.properties, out),
            Event::InstallationUpdated(event) => notices::installation_updated(event.properties, out),
            Event::InstallationUpdateAvailable(event) => notices::update_available(event.properties, out),
            Event::FileEdited(_) => out.dropped(FILE_ECHO),
            Event::ReferenceUpdated(_) => out.dropped(INVENTORY),
            Event::PermissionV2Asked(event) => self.permission_v2_asked(event.properties, out),
            Event::PermissionV2Replied(event) => self.permission_v2_replied(event.properties, out),
            Event::PluginAdded(_) => out.dropped(INVENTORY),
            Event::ProjectDirectoriesUpdated(_) => out.dropped(STATE_ECHO),
            Event::FileWatcherUpdated(_) => out.dropped(FILE_ECHO),
            Event::PtyCreated(_) | Event::PtyUpdated(_) | Event::PtyExited(_) | Event::PtyDeleted(_) => {
                out.dropped(OTHER_CLIENT);
            }
            Event::QuestionV2Asked(event) => self.question_v2_asked(event.properties, out),
            Event::QuestionV2Replied(event) => self.question_v2_replied(event.properties, out),
            Event::QuestionV2Rejected(event) => self.question_v2_rejected(event.properties, out),
            Event::TodoUpdated(event) => self.todo_updated(event.properties, out),
            Event::LspUpdated(_) => out.dropped(STATE_ECHO),
            Event::PermissionAsked(event) => self.permission_asked(event.properties, out),
            Event::PermissionReplied(event) => self.permission_replied(event.properties, text, out),
            Event::TuiPromptAppend(_) | Event::TuiCommandExecute(_) => out.dropped(OTHER_CLIENT),
            Event::TuiToastShow(event) => notices::toast(event.properties, out),
            Event::TuiSessionSelect(_) => out.dropped(OTHER_CLIENT),
            Event::McpToolsChanged(event) => {
                if let Some(server) = event.properties.and_then(|properties| properties.server) {
                    self.mcp_servers.add(server);
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
            Event::Unknown { tag, raw } => self.legacy_event(&tag, &raw, out),
        }
    }
}

/// Whether it is a `session.next.*` event. Only these carry a timestamp.
fn is_v2_event(event: &Event) -> bool {
    match event {
        Event::Unknown { tag, .. } => tag.starts_with("session.next."),
        known => known.variant().starts_with("SessionNext"),
    }
}

/// Reports a payload of a known type that lacks its properties or a required id.
fn report_incomplete(tag: &str, out: &mut Drafts) {
    out.current_session().unparsed(LOCATION, "the properties or an id are missing", Some(tag.to_owned()));
}
