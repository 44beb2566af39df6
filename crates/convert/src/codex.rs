//! Codex's events as drafts.

use crate::{Converter, Drafts, Input};

/// Turns what Codex says into drafts.
#[derive(Debug, Default)]
pub struct CodexConverter {}

impl Converter for CodexConverter {
    fn push(&mut self, _input: Input<'_>, _out: &mut Drafts) {}
}
