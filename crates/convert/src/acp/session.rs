//! State of a session.

use std::collections::BTreeMap;

use super::history::Replay;
use super::messages::OpenMessage;
use super::settings::Settings;
use super::tools::KnownCalls;
use super::usage::SessionUsage;
use crate::Key;
use crate::draft::LastPlan;

/// State of one session.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Drafts were made for the session.
    pub(super) is_announced: bool,
    /// What the agent says about the session is in an event.
    pub(super) is_described: bool,
    /// Names of the MCP servers that the host passed on.
    pub(super) mcp_servers: Vec<String>,
    /// The messages that are streaming, by the call that started their sub-agent; `None` for the main agent.
    pub(super) messages: BTreeMap<Option<Key>, OpenMessage>,
    /// Number of messages so far, for their keys.
    pub(super) message_count: u64,
    pub(super) calls: KnownCalls,
    /// The calls that started sub-agents, by the agent's ids of the sub-agents.
    pub(super) sub_agents: BTreeMap<String, Key>,
    pub(super) plan: LastPlan,
    pub(super) settings: Settings,
    pub(super) usage: SessionUsage,
    /// The agent repeats the history of the session.
    pub(super) replay: Option<Replay>,
    /// Summaries of running compactions.
    pub(super) compactions: BTreeMap<String, String>,
    /// Texts of messages from and to other sessions.
    pub(super) status_messages: BTreeMap<String, String>,
}

impl Session {
    /// Forgets what belongs to the process that has exited.
    pub(super) fn reset_process_state(&mut self) {
        self.messages.clear();
        self.calls.reset_process_state();
        self.sub_agents.clear();
        self.replay = None;
        self.compactions.clear();
        self.status_messages.clear();
        self.usage.reset_process_state();
    }
}
