//! What an agent's converter is, and what it is told before the first input.

use interlingua_wirelog::{Header, InputRef};

use crate::Drafts;

/// Turns what one agent says into drafts.
///
/// A converter is a state machine and nothing else: no I/O, no clock, no randomness, and it does not panic whatever
/// it is given. It names things by the agent's own ids, or by keys it makes up; ids, sequence, time, what is missing
/// and what is left open are not its business.
pub trait Converter: Send {
    /// The agent's id, which is in the metadata of its sessions: `claude`, `codex`.
    fn agent(&self) -> &'static str;

    /// An agent was started so. This is where the prompt of a one-shot run is found. It may come again when a
    /// session goes on in a new process.
    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        let (_, _) = (launch, out);
    }

    /// Something crossed the wire. What is [unreadable](interlingua_wirelog::Input::Unreadable) is reported by the
    /// conversion and does not come here.
    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts);
}

impl<C: Converter + ?Sized> Converter for Box<C> {
    fn agent(&self) -> &'static str {
        (**self).agent()
    }

    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        (**self).observe_launch(launch, out);
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        (**self).push(input, out);
    }
}

/// How an agent was started: what the wire itself does not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The agent's version; absent when nobody knows.
    pub version: Option<String>,
    /// The command line; empty when nobody knows.
    pub argv: Vec<String>,
    /// The prompt of a one-shot run, where it is known apart from `argv`.
    pub prompt: Option<String>,
}

impl Launch {
    /// A program of this version, started with this command line.
    #[must_use]
    pub fn new(version: Option<String>, argv: Vec<String>) -> Self {
        Self { version, argv, prompt: None }
    }
}

impl From<&Header> for Launch {
    fn from(header: &Header) -> Self {
        Self { version: header.version.clone(), argv: header.argv.clone(), prompt: header.prompt.clone() }
    }
}
