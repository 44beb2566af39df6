//! Calls that have no result yet, as far as their result or a question needs them.

use foldhash::HashMap;
use interlingua_native::Json;
use interlingua_schema::ToolKind;
use serde::Deserialize;

/// So many calls without a result are remembered.
const MOST_OPEN: usize = 1024;

/// A call that has no result yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) kind: ToolKind,
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
    /// A tool is called.
    pub(super) fn begin(&mut self, id: &str, name: &str, kind: ToolKind, input: Option<&Json>) {
        if self.0.len() >= MOST_OPEN {
            return;
        }
        let needed = matches!(kind, ToolKind::FileChange | ToolKind::FileRead | ToolKind::Plan);
        let input = input.filter(|_| needed).cloned();
        self.0.insert(id.to_owned(), Call { name: name.to_owned(), kind, input });
    }

    pub(super) fn get(&self, id: &str) -> Option<&Call> {
        self.0.get(id)
    }

    /// A tool is done.
    pub(super) fn end(&mut self, id: &str) -> Option<Call> {
        self.0.remove(id)
    }
}
