//! Amp: the `types.d.ts` of its SDK, which lags the agent.

use anyhow::Result;

use super::typescript::{self, Comments};
use super::{Extracted, Installations};
use crate::agents::Group;
use crate::definitions::check_anchors;

const PACKAGE: &str = "@sourcegraph/amp-sdk";
const AGENT: &str = "@sourcegraph/amp";

pub(super) fn extract(from: &Installations) -> Result<Extracted> {
    let types = from.get(Group::Types)?;
    let roots = ["StreamMessage", "UserInputMessage"];
    let mut file = typescript::declarations(&types.package(PACKAGE), "dist/types.d.ts")?;
    file.add_roots(&roots);
    let (document, notes) = typescript::schema(from.get(Group::Tool)?, types, file, Comments::Drop, &[])?;
    check_anchors(&document, "/definitions", &roots)?;
    let describes = Some((AGENT.to_owned(), types.resolved(AGENT)?.version));
    Ok(Extracted { documents: vec![document], notes, describes, binary: None })
}
