//! The converter interface, and how an agent was launched.

use interlingua_wirelog::{Header, InputRef};

use crate::Drafts;

/// Turns the inputs of one agent into drafts.
///
/// A converter is a pure state machine: no I/O, no clock, no randomness, and no panics, whatever the input is. It
/// refers to items by native ids or by keys that it makes from them. Event ids, sequence numbers, times, missing starts
/// and open items are the sequencer's job.
pub trait Converter: Send {
    /// Id of the agent, which is in the metadata of its sessions: `claude`, `codex`.
    fn agent(&self) -> &'static str;

    /// Notes how the agent was started. A one-shot run has its prompt here. Called again when a session continues in a
    /// new process.
    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        let (_, _) = (launch, out);
    }

    /// Makes drafts of one input. The conversion itself reports [unreadable](interlingua_wirelog::Input::Unreadable)
    /// input; converters do not get it.
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

/// How an agent was started, which the wire does not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// Version of the agent; `None` if unknown.
    pub version: Option<String>,
    /// Command line; empty if unknown.
    pub argv: Vec<String>,
    /// Prompt of a one-shot run, if it is known separately from `argv`.
    pub prompt: Option<String>,
    /// The stream has the history of the session already, so what the agent repeats of it is not new.
    pub has_history: bool,
}

impl Launch {
    /// An agent of this version, started with this command line.
    #[must_use]
    pub fn new(version: Option<String>, argv: Vec<String>) -> Self {
        Self { version, argv, prompt: None, has_history: false }
    }

    /// Sets whether the stream has the history of the session that the agent loads.
    #[must_use]
    pub fn has_history(mut self, has_history: bool) -> Self {
        self.has_history = has_history;
        self
    }
}

impl From<&Header> for Launch {
    fn from(header: &Header) -> Self {
        Self {
            version: header.version.clone(),
            argv: header.argv.clone(),
            prompt: header.prompt.clone(),
            has_history: false,
        }
    }
}
