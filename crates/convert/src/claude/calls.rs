//! Tool calls without a result, with what their result or a request needs of them.

use foldhash::HashMap;
use interlingua_native::Json;
use interlingua_schema::ToolKind;
use serde::Deserialize;

/// Maximum number of open calls that are tracked.
const MAX_OPEN_CALLS: usize = 1024;

/// A call that has no result yet.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) name: String,
    pub(super) kind: ToolKind,
    /// Tool call of the sub-agent that made it; `None` for the main agent.
    pub(super) sub_agent: Option<String>,
    /// The arguments, kept only for tools whose results leave out what the arguments say.
    pub(super) input: Option<Json>,
}

impl OpenCall {
    /// Decodes the arguments; the default value if they are missing or do not fit.
    pub(super) fn arguments<'a, T: Deserialize<'a> + Default>(&'a self) -> T {
        self.input.as_ref().and_then(|input| input.decode().ok()).unwrap_or_default()
    }
}

/// Open calls by their id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(HashMap<String, OpenCall>);

impl OpenCalls {
    /// Adds a call, made by the sub-agent that the call `sub_agent` started or by the main agent.
    pub(super) fn insert(
        &mut self,
        id: &str,
        name: &str,
        kind: ToolKind,
        sub_agent: Option<&str>,
        input: Option<&Json>,
    ) {
        if self.0.len() >= MAX_OPEN_CALLS {
            return;
        }
        let needs_input = matches!(kind, ToolKind::FileChange | ToolKind::FileRead | ToolKind::Plan);
        let input = input.filter(|_| needs_input).cloned();
        self.0.insert(
            id.to_owned(),
            OpenCall { name: name.to_owned(), kind, sub_agent: sub_agent.map(str::to_owned), input },
        );
    }

    pub(super) fn get(&self, id: &str) -> Option<&OpenCall> {
        self.0.get(id)
    }

    /// Id of the call of this tool, if there is exactly one. Requests of versions up to 1.0.80 do not name their call.
    pub(super) fn find_only_call(&self, name: &str) -> Option<&str> {
        let mut calls = self.0.iter().filter(|(_, call)| call.name == name);
        let (id, _) = calls.next()?;
        calls.next().is_none().then_some(id)
    }

    /// Removes a call that has its result.
    pub(super) fn remove(&mut self, id: &str) -> Option<OpenCall> {
        self.0.remove(id)
    }
}
