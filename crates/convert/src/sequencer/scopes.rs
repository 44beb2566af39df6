//! Whose item it is: the agent's, or one of its sub-agents'. From that follow the parents.

use interlingua_schema::ItemId;

use super::moment::{Moment, Scene};
use super::recent_map::RecentMap;
use super::session::{ItemRef, Session};
use crate::Key;
use crate::draft::DraftAction;

/// So much is held back for a sub-agent whose tool call is not known yet.
const MOST_HELD: usize = 4096;

/// The agent of a session (0), or one of its sub-agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ScopeId(u32);

impl ScopeId {
    pub(super) const MAIN: Self = Self(0);
}

/// What a sub-agent is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ScopeKey {
    /// The tool call that started it.
    Call(Key),
    /// A native session of its own.
    Thread(Key),
}

/// The tool call that started a sub-agent.
#[derive(Debug)]
enum Spawn {
    /// There is none: the agent itself, or a sub-agent whose call never became known.
    Nobody,
    /// Not known yet, perhaps by name.
    Awaited(Option<(Option<ScopeId>, Key)>),
    Known {
        call: ItemRef,
        item: ItemId,
    },
}

#[derive(Debug)]
pub(super) struct ScopeState {
    spawn: Spawn,
    held: Vec<(Moment, bool, DraftAction)>,
    latest_message: Option<ItemId>,
    /// The latest item of each of the agent's own messages.
    by_message: RecentMap<Key, ItemId, 256>,
}

impl ScopeState {
    pub(super) fn main() -> Self {
        Self::new(Spawn::Nobody)
    }

    fn new(spawn: Spawn) -> Self {
        Self { spawn, held: Vec::new(), latest_message: None, by_message: RecentMap::default() }
    }
}

impl Session {
    fn scope(&self, scope: ScopeId) -> Option<&ScopeState> {
        self.scopes.get(scope.0 as usize)
    }

    fn scope_mut(&mut self, scope: ScopeId) -> Option<&mut ScopeState> {
        self.scopes.get_mut(scope.0 as usize)
    }

    /// The agent and all sub-agents.
    pub(super) fn scope_list(&self) -> impl Iterator<Item = ScopeId> + use<> {
        (0..u32::try_from(self.scopes.len()).unwrap_or(u32::MAX)).map(ScopeId)
    }

    fn open_scope(&mut self, key: ScopeKey, spawn: Spawn) -> ScopeId {
        if let Some(scope) = self.scope_ids.get(&key) {
            return *scope;
        }
        let scope = ScopeId(u32::try_from(self.scopes.len()).unwrap_or(u32::MAX));
        self.scopes.push(ScopeState::new(spawn));
        self.scope_ids.insert(key, scope);
        scope
    }

    /// The sub-agent that a tool call started.
    pub(super) fn sub_agent(&mut self, call: Key) -> ScopeId {
        self.open_scope(ScopeKey::Call(call.clone()), Spawn::Awaited(Some((None, call))))
    }

    /// The sub-agent that has a native session of its own.
    pub(super) fn thread(&mut self, session: Key) -> ScopeId {
        self.open_scope(ScopeKey::Thread(session), Spawn::Awaited(None))
    }

    /// Whether what is said there counts as the agent's own, because no tool call is known above it.
    pub(super) fn is_main(&self, scope: ScopeId) -> bool {
        !matches!(self.scope(scope), Some(ScopeState { spawn: Spawn::Known { .. }, .. }))
    }

    /// Whether the agent waits for this sub-agent: the call that started it, and those above, have no result yet.
    pub(super) fn is_foreground(&self, scope: ScopeId) -> bool {
        match self.scope(scope).map(|state| &state.spawn) {
            Some(Spawn::Known { call, .. }) => self.tools.contains_key(call) && self.is_foreground(call.0),
            _ => true,
        }
    }

    pub(super) fn spawned_by(&mut self, scene: &mut Scene<'_>, scope: ScopeId, parent: ScopeId, call: Key) {
        self.taken_up_again(scope, parent, &call);
        if let Some(state) = self.scope_mut(scope)
            && matches!(state.spawn, Spawn::Awaited(_))
            && scope != parent
        {
            state.spawn = Spawn::Awaited(Some((Some(parent), call)));
            self.settle(scene);
        }
    }

    /// A call that runs may go on with a sub-agent that an earlier one started: what that does from now on hangs on
    /// the new call.
    fn taken_up_again(&mut self, scope: ScopeId, parent: ScopeId, call: &Key) {
        let at = (parent, call.clone());
        if !self.tools.contains_key(&at) || self.is_within(parent, scope) {
            return;
        }
        let Some(item) = self.call_item(parent, call) else {
            return;
        };
        if let Some(state) = self.scope_mut(scope)
            && let Spawn::Known { call: known, .. } = &state.spawn
            && *known != at
        {
            state.spawn = Spawn::Known { call: at, item };
            state.latest_message = None;
        }
    }

    /// Does what a draft says, or keeps it until the sub-agent's tool call is known.
    pub(super) fn act_or_hold(&mut self, scene: &mut Scene<'_>, scope: ScopeId, synthetic: bool, act: DraftAction) {
        self.look_up(scope);
        let moment = scene.moment;
        match self.scope_mut(scope) {
            Some(state) if matches!(state.spawn, Spawn::Awaited(_)) && has_a_parent(&act) => {
                state.held.push((moment.clone(), synthetic, act));
                let full = state.held.len() > MOST_HELD;
                self.holding = true;
                if full && let Some(state) = self.scope_mut(scope) {
                    state.spawn = Spawn::Nobody;
                    self.let_go(scene, scope);
                }
            }
            _ => self.act(scene, scope, synthetic, act),
        }
    }

    /// Lets go of what was held back for sub-agents whose call has become known.
    pub(super) fn settle(&mut self, scene: &mut Scene<'_>) {
        if !self.holding {
            return;
        }
        while let Some(scope) = (1..self.scopes.len())
            .filter_map(|index| u32::try_from(index).ok().map(ScopeId))
            .find(|scope| self.scope(*scope).is_some_and(|state| !state.held.is_empty()) && self.look_up(*scope))
        {
            self.let_go(scene, scope);
        }
        self.holding = self.scopes.iter().any(|state| !state.held.is_empty());
    }

    /// Lets go of everything that is held back, with or without a call.
    pub(super) fn release(&mut self, scene: &mut Scene<'_>) {
        let mut index = 1;
        while index < self.scopes.len() {
            let scope = ScopeId(u32::try_from(index).unwrap_or(u32::MAX));
            if let Some(state) = self.scope_mut(scope)
                && !state.held.is_empty()
            {
                state.spawn = Spawn::Nobody;
                self.let_go(scene, scope);
            }
            index += 1;
        }
    }

    fn let_go(&mut self, scene: &mut Scene<'_>, scope: ScopeId) {
        let held = self.scope_mut(scope).map(|state| std::mem::take(&mut state.held)).unwrap_or_default();
        for (moment, synthetic, act) in held {
            self.act(&mut scene.at(&moment), scope, synthetic, act);
        }
    }

    /// Finds the item of the call that started a sub-agent. True once it is known.
    fn look_up(&mut self, scope: ScopeId) -> bool {
        let Some(ScopeState { spawn: Spawn::Awaited(Some((within, key))), .. }) = self.scope(scope) else {
            return scope == ScopeId::MAIN || !self.is_awaited(scope);
        };
        let found = match within {
            Some(within) => self.call_item(*within, key).map(|item| ((*within, key.clone()), item)),
            None => (0..self.scopes.len()).rev().find_map(|index| {
                let within = ScopeId(u32::try_from(index).ok()?);
                self.call_item(within, key).map(|item| ((within, key.clone()), item))
            }),
        };
        // A sub-agent cannot have been started from inside itself, at whatever remove.
        let Some((call, item)) = found.filter(|(call, _)| !self.is_within(call.0, scope)) else {
            return false;
        };
        if let Some(state) = self.scope_mut(scope) {
            state.spawn = Spawn::Known { call, item };
        }
        true
    }

    fn is_awaited(&self, scope: ScopeId) -> bool {
        matches!(self.scope(scope), Some(ScopeState { spawn: Spawn::Awaited(_), .. }))
    }

    fn is_within(&self, inner: ScopeId, outer: ScopeId) -> bool {
        inner == outer
            || match self.scope(inner).map(|state| &state.spawn) {
                Some(Spawn::Known { call, .. }) => self.is_within(call.0, outer),
                _ => false,
            }
    }

    /// The parent of what a sub-agent says; the agent's own words have none.
    pub(super) fn spawner(&self, scope: ScopeId) -> Option<ItemId> {
        match &self.scope(scope)?.spawn {
            Spawn::Known { item, .. } => Some(item.clone()),
            Spawn::Nobody | Spawn::Awaited(_) => None,
        }
    }

    /// The parent of a tool call or result: the message it came from, else the latest one there is.
    pub(super) fn tool_parent(&self, scope: ScopeId, of: Option<&Key>) -> Option<ItemId> {
        let state = self.scope(scope)?;
        of.and_then(|message| state.by_message.get(message))
            .or(state.latest_message.as_ref())
            .cloned()
            .or_else(|| self.spawner(scope))
            .or_else(|| self.latest_message.clone())
    }

    /// A message begins: later tool calls may come from it.
    pub(super) fn note_message(&mut self, scope: ScopeId, of: Option<&Key>, item: &ItemId) {
        self.latest_message = Some(item.clone());
        if let Some(state) = self.scope_mut(scope) {
            state.latest_message = Some(item.clone());
            if let Some(of) = of {
                state.by_message.insert(of.clone(), item.clone());
            }
        }
    }
}

/// Whether it matters whose sub-agent does this. Nobody may wait for an answer to what is held back, so what is asked
/// goes out at once.
fn has_a_parent(act: &DraftAction) -> bool {
    !matches!(
        act,
        DraftAction::PermissionRequested { .. }
            | DraftAction::PermissionResolved { .. }
            | DraftAction::QuestionsRequested { .. }
            | DraftAction::QuestionsResolved { .. }
            | DraftAction::RequestWithdrawn { .. }
            | DraftAction::Failed(_)
            | DraftAction::Unparsed(_)
    )
}
