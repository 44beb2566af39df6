//! State of a session.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::history::Replay;
use super::messages::Run;
use super::settings::Settings;
use super::tools::Tool;
use super::usage::SessionUsage;
use crate::draft::LastPlan;

/// State of one session.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Drafts were made for the session.
    pub(super) is_announced: bool,
    /// The messages that are streaming, by the call that started their sub-agent; `None` for the main agent.
    pub(super) runs: BTreeMap<Option<String>, Run>,
    /// Number of messages so far, for their keys.
    pub(super) message_count: u64,
    /// Tool calls by native id. Finished ones stay until the end of the turn, because updates may follow.
    pub(super) tools: HashMap<String, Tool>,
    /// Number of tool calls so far: they are settled in the order in which they were mentioned.
    pub(super) tool_count: u64,
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
        self.runs.clear();
        self.tools.clear();
        self.replay = None;
        self.compactions.clear();
        self.status_messages.clear();
        self.usage.reset_process_state();
    }
}
