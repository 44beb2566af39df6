//! The tool calls of a session, by their native ids, which agents may use again.

use foldhash::HashMap;
use interlingua_schema::ToolKind;

use super::Tool;
use crate::Key;
use crate::sequencer::RecentMap;

/// Maximum number of calls without a result that are tracked. With one more, the oldest is forgotten.
const MAX_OPEN_CALLS: usize = 1024;
/// Maximum number of finished calls that are remembered, to recognize updates that come late.
const MAX_PAST_CALLS: usize = 2048;

/// The calls of a session.
#[derive(Debug, Default)]
pub(in crate::acp) struct KnownCalls {
    /// Finished ones stay until the end of the turn, because updates may follow.
    tools: HashMap<String, Tool>,
    past: PastCalls,
    /// Number of calls so far: they are settled in the order in which they were mentioned.
    count: u64,
}

/// Calls that were finished in an earlier turn.
#[derive(Debug, Default)]
struct PastCalls(RecentMap<String, PastCall, MAX_PAST_CALLS>);

#[derive(Debug)]
struct PastCall {
    key: Key,
    parent: Option<Key>,
    is_inferred: bool,
}

impl KnownCalls {
    pub(in crate::acp) fn get(&self, call_id: &str) -> Option<&Tool> {
        self.tools.get(call_id)
    }

    pub(super) fn get_mut(&mut self, call_id: &str) -> Option<&mut Tool> {
        self.tools.get_mut(call_id)
    }

    pub(super) fn insert(&mut self, call_id: &str, tool: Tool) {
        self.tools.insert(call_id.to_owned(), tool);
    }

    /// The order and the key of a new call. The key of the first call with an id is the id itself.
    pub(super) fn next_key(&mut self, call_id: &str) -> (u64, Key) {
        self.count += 1;
        let is_used = self.tools.contains_key(call_id) || self.past.0.get(&call_id.to_owned()).is_some();
        let key = if is_used { Key::numbered(call_id, self.count) } else { Key::from(call_id) };
        (self.count, key)
    }

    /// The key of the latest call with this id.
    pub(in crate::acp) fn key(&self, call_id: &str) -> Key {
        let past = || self.past.0.get(&call_id.to_owned()).map(|past| past.key.clone());
        self.tools.get(call_id).map(|tool| tool.key.clone()).or_else(past).unwrap_or_else(|| Key::from(call_id))
    }

    /// The call that started the sub-agent that makes this call.
    pub(in crate::acp) fn parent(&self, call_id: &str) -> Option<Key> {
        self.tools.get(call_id).and_then(|tool| tool.parent().cloned())
    }

    /// Whether the call was finished in an earlier turn, and no other call has its id.
    pub(super) fn is_past(&self, call_id: &str) -> bool {
        !self.tools.contains_key(call_id) && self.past.0.get(&call_id.to_owned()).is_some()
    }

    /// Key and parent of a call of an earlier turn whose failure was inferred. It has its result after this.
    pub(super) fn take_inferred(&mut self, call_id: &str) -> Option<(Key, Option<Key>)> {
        let past = self.past.0.get_mut(&call_id.to_owned()).filter(|past| past.is_inferred)?;
        past.is_inferred = false;
        Some((past.key.clone(), past.parent.clone()))
    }

    /// The calls for which `is_selected`, in the order in which they were mentioned.
    pub(super) fn select_mut(
        &mut self,
        is_selected: impl Fn(&str, &Tool) -> bool,
    ) -> impl Iterator<Item = (&str, &mut Tool)> {
        let selected = self.tools.iter_mut().filter(|(call_id, tool)| is_selected(call_id, tool));
        let mut selected: Vec<(&str, &mut Tool)> = selected.map(|(call_id, tool)| (call_id.as_str(), tool)).collect();
        selected.sort_unstable_by_key(|(_, tool)| tool.order);
        selected.into_iter()
    }

    /// The calls without a result that start a sub-agent.
    pub(in crate::acp) fn open_sub_agent_calls(&self) -> impl Iterator<Item = (&str, &Tool)> {
        let starts_sub_agent =
            |(_, tool): &(&String, &Tool)| !tool.is_finished() && tool.describe().kind == ToolKind::SubAgent;
        self.tools.iter().filter(starts_sub_agent).map(|(call_id, tool)| (call_id.as_str(), tool))
    }

    /// Forgets the finished calls, apart from their ids.
    pub(super) fn forget_finished(&mut self) {
        self.remember(Tool::is_finished);
        while self.tools.len() > MAX_OPEN_CALLS {
            let oldest = self.tools.iter().min_by_key(|(_, tool)| tool.order).map(|(call_id, _)| call_id.clone());
            let Some(oldest) = oldest else { return };
            self.tools.remove(&oldest);
        }
    }

    /// Forgets the calls of a process that has exited, apart from their ids.
    pub(in crate::acp) fn reset_process_state(&mut self) {
        self.remember(|_| true);
    }

    /// Keeps only what late updates of these calls need.
    fn remember(&mut self, is_past: impl Fn(&Tool) -> bool) {
        let mut past: Vec<(String, Tool)> = self.tools.extract_if(|_, tool| is_past(tool)).collect();
        past.sort_unstable_by_key(|(_, tool)| tool.order);
        for (call_id, Tool { key, parent, is_inferred, .. }) in past {
            self.past.0.insert(call_id, PastCall { key, parent, is_inferred });
        }
    }
}
