//! Claude Code's events as drafts.

use crate::{Converter, Drafts, Input};

/// Turns what Claude Code says into drafts.
#[derive(Debug, Default)]
pub struct ClaudeConverter {}

impl Converter for ClaudeConverter {
    fn push(&mut self, _input: Input<'_>, _out: &mut Drafts) {}
}
