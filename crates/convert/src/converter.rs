//! What an agent's converter is.

use crate::{Drafts, Input, Launch};

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
    fn launch(&mut self, launch: &Launch, out: &mut Drafts) {
        let (_, _) = (launch, out);
    }

    /// Something crossed the wire.
    fn push(&mut self, input: Input<'_>, out: &mut Drafts);
}

impl<C: Converter + ?Sized> Converter for Box<C> {
    fn agent(&self) -> &'static str {
        (**self).agent()
    }

    fn launch(&mut self, launch: &Launch, out: &mut Drafts) {
        (**self).launch(launch, out);
    }

    fn push(&mut self, input: Input<'_>, out: &mut Drafts) {
        (**self).push(input, out);
    }
}
