//! Scopes: the main agent of a session and its sub-agents. The scope of an item decides its parent.
//!
//! Drafts of a sub-agent are held until the item of the tool call that started it is known, because that item is the
//! parent of what the sub-agent does.

use interlingua_schema::ItemId;

use super::emitter::{EmitContext, Provenance};
use super::recent_map::RecentMap;
use super::session::{ItemRef, Session};
use crate::Key;
use crate::draft::DraftAction;

/// Maximum number of drafts held for a sub-agent whose tool call is not known. With one more, all are applied without
/// it.
const MAX_HELD_DRAFTS: usize = 4096;

/// The main agent of a session (0), or one of its sub-agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ScopeId(u32);

impl ScopeId {
    pub(super) const MAIN: Self = Self(0);
}

/// What identifies a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ScopeKey {
    /// The tool call that started it.
    Call(Key),
    /// The native session that it runs in.
    Thread(Key),
}

/// The tool call that started a sub-agent.
#[derive(Debug)]
enum Spawn {
    /// There is none: the scope is the main agent, or a sub-agent whose call never became known.
    None,
    /// The item of the call is not known yet. The key may be, and the scope that the call is in.
    Awaited(Option<(Option<ScopeId>, Key)>),
    /// The item of the call is known.
    Known { call: ItemRef, item: ItemId },
}

#[derive(Debug)]
pub(super) struct ScopeState {
    spawn: Spawn,
    /// Drafts that wait for the spawning call.
    held: Vec<(Provenance, bool, DraftAction)>,
    latest_message: Option<ItemId>,
    /// Latest item of each native message.
    by_message: RecentMap<Key, ItemId, 256>,
}

impl ScopeState {
    pub(super) fn main() -> Self {
        Self::new(Spawn::None)
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

    /// The main agent and all sub-agents.
    pub(super) fn scope_ids(&self) -> impl Iterator<Item = ScopeId> + use<> {
        (0..u32::try_from(self.scopes.len()).unwrap_or(u32::MAX)).map(ScopeId)
    }

    fn open_scope(&mut self, key: ScopeKey, spawn: Spawn) -> ScopeId {
        if let Some(scope) = self.scopes_by_key.get(&key) {
            return *scope;
        }
        let scope = ScopeId(u32::try_from(self.scopes.len()).unwrap_or(u32::MAX));
        self.scopes.push(ScopeState::new(spawn));
        self.scopes_by_key.insert(key, scope);
        scope
    }

    /// Scope of the sub-agent that a tool call started.
    pub(super) fn sub_agent(&mut self, call: Key) -> ScopeId {
        self.open_scope(ScopeKey::Call(call.clone()), Spawn::Awaited(Some((None, call))))
    }

    /// Scope of the sub-agent that runs in this native session.
    pub(super) fn child_scope(&mut self, session: Key) -> ScopeId {
        self.open_scope(ScopeKey::Thread(session), Spawn::Awaited(None))
    }

    /// Whether the output of a scope counts as the main agent's, because no spawning call is known.
    pub(super) fn is_main(&self, scope: ScopeId) -> bool {
        !matches!(self.scope(scope), Some(ScopeState { spawn: Spawn::Known { .. }, .. }))
    }

    /// Whether the main agent waits for this sub-agent: the call that started it, and the calls above, have no result.
    pub(super) fn is_foreground(&self, scope: ScopeId) -> bool {
        match self.scope(scope).map(|state| &state.spawn) {
            Some(Spawn::Known { call, .. }) => self.tools.contains_key(call) && self.is_foreground(call.0),
            _ => true,
        }
    }

    pub(super) fn spawned_by(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, parent: ScopeId, call: Key) {
        self.reattach(scope, parent, &call);
        if let Some(state) = self.scope_mut(scope)
            && matches!(state.spawn, Spawn::Awaited(_))
            && scope != parent
        {
            state.spawn = Spawn::Awaited(Some((Some(parent), call)));
            self.release_resolved(ctx);
        }
    }

    /// Makes a running call the parent of a sub-agent that an earlier call started. Agents can resume a sub-agent by a
    /// new call; what it does from then on belongs to the new call.
    fn reattach(&mut self, scope: ScopeId, parent: ScopeId, call: &Key) {
        let item_ref = (parent, call.clone());
        if !self.tools.contains_key(&item_ref) || self.is_within(parent, scope) {
            return;
        }
        let Some(item) = self.call_item(parent, call) else {
            return;
        };
        if let Some(state) = self.scope_mut(scope)
            && let Spawn::Known { call: known, .. } = &state.spawn
            && *known != item_ref
        {
            state.spawn = Spawn::Known { call: item_ref, item };
            state.latest_message = None;
        }
    }

    /// Applies a draft, or holds it until the spawning call of its sub-agent is known.
    pub(super) fn apply_or_hold(
        &mut self,
        ctx: &mut EmitContext<'_>,
        scope: ScopeId,
        synthetic: bool,
        action: DraftAction,
    ) {
        self.resolve_spawn(scope);
        let provenance = ctx.provenance;
        match self.scope_mut(scope) {
            Some(state) if matches!(state.spawn, Spawn::Awaited(_)) && needs_spawn_call(&action) => {
                state.held.push((provenance.clone(), synthetic, action));
                let full = state.held.len() > MAX_HELD_DRAFTS;
                self.has_held_drafts = true;
                if full && let Some(state) = self.scope_mut(scope) {
                    state.spawn = Spawn::None;
                    self.release_scope(ctx, scope);
                }
            }
            _ => self.apply_action(ctx, scope, synthetic, action),
        }
    }

    /// Applies the held drafts of sub-agents whose spawning call has become known.
    pub(super) fn release_resolved(&mut self, ctx: &mut EmitContext<'_>) {
        if !self.has_held_drafts {
            return;
        }
        while let Some(scope) = (1..self.scopes.len())
            .filter_map(|index| u32::try_from(index).ok().map(ScopeId))
            .find(|scope| self.scope(*scope).is_some_and(|state| !state.held.is_empty()) && self.resolve_spawn(*scope))
        {
            self.release_scope(ctx, scope);
        }
        self.has_held_drafts = self.scopes.iter().any(|state| !state.held.is_empty());
    }

    /// Applies all held drafts, even without a spawning call.
    pub(super) fn release_all(&mut self, ctx: &mut EmitContext<'_>) {
        let mut index = 1;
        while index < self.scopes.len() {
            let scope = ScopeId(u32::try_from(index).unwrap_or(u32::MAX));
            if let Some(state) = self.scope_mut(scope)
                && !state.held.is_empty()
            {
                state.spawn = Spawn::None;
                self.release_scope(ctx, scope);
            }
            index += 1;
        }
    }

    /// Applies the held drafts of one sub-agent.
    fn release_scope(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId) {
        let held = self.scope_mut(scope).map(|state| std::mem::take(&mut state.held)).unwrap_or_default();
        for (provenance, synthetic, action) in held {
            self.apply_action(&mut ctx.with_provenance(&provenance), scope, synthetic, action);
        }
    }

    /// Looks for the item of the call that started a sub-agent. Returns whether nothing is awaited any more.
    fn resolve_spawn(&mut self, scope: ScopeId) -> bool {
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
        // A sub-agent is never started from within itself, directly or through other sub-agents.
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

    /// Item of the spawning call, which is the parent of a sub-agent's messages. `None` for the main agent.
    pub(super) fn spawn_item(&self, scope: ScopeId) -> Option<ItemId> {
        match &self.scope(scope)?.spawn {
            Spawn::Known { item, .. } => Some(item.clone()),
            Spawn::None | Spawn::Awaited(_) => None,
        }
    }

    /// Parent of a tool call or result: the message that it came from, else the latest message.
    pub(super) fn tool_parent(&self, scope: ScopeId, native_message: Option<&Key>) -> Option<ItemId> {
        let state = self.scope(scope)?;
        native_message
            .and_then(|message| state.by_message.get(message))
            .or(state.latest_message.as_ref())
            .cloned()
            .or_else(|| self.spawn_item(scope))
            .or_else(|| self.latest_message.clone())
    }

    /// Remembers a message that starts, because later tool calls may come from it.
    pub(super) fn observe_message(&mut self, scope: ScopeId, native_message: Option<&Key>, item: &ItemId) {
        self.latest_message = Some(item.clone());
        if let Some(state) = self.scope_mut(scope) {
            state.latest_message = Some(item.clone());
            if let Some(native_message) = native_message {
                state.by_message.insert(native_message.clone(), item.clone());
            }
        }
    }
}

/// Whether a draft of a sub-agent has to wait for the spawning call. Requests do not wait, because the agent is waiting
/// for the answer. Errors and unparsed payloads have no parent.
fn needs_spawn_call(action: &DraftAction) -> bool {
    !matches!(
        action,
        DraftAction::PermissionRequested { .. }
            | DraftAction::PermissionResolved { .. }
            | DraftAction::QuestionsRequested { .. }
            | DraftAction::QuestionsResolved { .. }
            | DraftAction::RequestWithdrawn { .. }
            | DraftAction::Failed(_)
            | DraftAction::Unparsed(_)
    )
}
