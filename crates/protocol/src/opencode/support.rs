//! What only some versions of OpenCode take.

use semver::Version;

use crate::Support;

/// Fields of queries and bodies that only some versions take, named `POST /path/{parameter}.field`. They are left out
/// for the others. The evidence is the name of a recording.
///
/// It is empty: all versions that there are recordings of, from 1.1.34 on, declare and take everything that is sent.
pub const SUPPORT: &[Support] = &[];

/// The fields of an operation that a version does not take.
pub(super) fn unsupported_fields<'a>(
    table: &'a [Support],
    method: &str,
    path: &str,
    version: Option<&Version>,
) -> Vec<&'a str> {
    let field = |name: &'a str| name.strip_prefix(method)?.strip_prefix(' ')?.strip_prefix(path)?.strip_prefix('.');
    table.iter().filter(|support| !support.includes(version)).filter_map(|support| field(support.name)).collect()
}
