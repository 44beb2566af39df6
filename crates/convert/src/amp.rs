//! Amp's events as drafts.

use crate::{Converter, Drafts, Input};

/// Turns what Amp says into drafts.
#[derive(Debug, Default)]
pub struct AmpConverter {}

impl Converter for AmpConverter {
    fn push(&mut self, _input: Input<'_>, _out: &mut Drafts) {}
}
