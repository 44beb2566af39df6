//! OpenCode's events as drafts.

use crate::{Converter, Drafts, Input};

/// Turns what OpenCode says into drafts.
#[derive(Debug, Default)]
pub struct OpenCodeConverter {}

impl Converter for OpenCodeConverter {
    fn push(&mut self, _input: Input<'_>, _out: &mut Drafts) {}
}
