//! Calls that have no result yet, as far as their result or a request needs them.

use foldhash::HashMap;
use interlingua_native::Json;
use interlingua_schema::ToolKind;
use serde::Deserialize;

/// So many calls without a result are remembered.
const MAX_OPEN: usize = 1024;

/// A call that has no result yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) kind: ToolKind,
    /// The tool call of the sub-agent that made it; the agent itself when absent.
    pub(super) sub_agent: Option<String>,
    /// The arguments, of tools whose arguments tell what their results leave out.
    pub(super) input: Option<Json>,
}

impl Call {
    /// The arguments as far as they fit, or nothing.
    pub(super) fn arguments<'a, T: Deserialize<'a> + Default>(&'a self) -> T {
        self.input.as_ref().and_then(|input| input.decode().ok()).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<String, Call>);

impl Calls {
    /// A tool is called, by the sub-agent that the call `sub_agent` started or by the agent itself.
    pub(super) fn begin(
        &mut self,
        id: &str,
        name: &str,
        kind: ToolKind,
        sub_agent: Option<&str>,
        input: Option<&Json>,
    ) {
        if self.0.len() >= MAX_OPEN {
            return;
        }
        let needed = matches!(kind, ToolKind::FileChange | ToolKind::FileRead | ToolKind::Plan);
        let input = input.filter(|_| needed).cloned();
        self.0.insert(
            id.to_owned(),
            Call { name: name.to_owned(), kind, sub_agent: sub_agent.map(str::to_owned), input },
        );
    }

    pub(super) fn get(&self, id: &str) -> Option<&Call> {
        self.0.get(id)
    }

    /// The id of the only call of this tool. Versions up to 1.0.80 do not say which call a request is about.
    pub(super) fn only_call_of(&self, name: &str) -> Option<&str> {
        let mut calls = self.0.iter().filter(|(_, call)| call.name == name);
        let (id, _) = calls.next()?;
        calls.next().is_none().then_some(id)
    }

    /// A tool is done.
    pub(super) fn end(&mut self, id: &str) -> Option<Call> {
        self.0.remove(id)
    }
}
