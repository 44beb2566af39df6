//! What only some versions of OpenCode support.

use semver::Version;

use crate::Support;

/// Fields of queries and bodies that only some versions support, named `POST /path/{parameter}.field`. They are not
/// sent to other versions. The evidence is the name of a recording.
///
/// The table is empty: all recorded versions, from 1.1.34 on, declare and accept everything that is sent.
pub const SUPPORT: &[Support] = &[];

/// The fields of an operation that a version does not support.
pub(super) fn unsupported_fields<'a>(
    table: &'a [Support],
    method: &str,
    path: &str,
    version: Option<&Version>,
) -> Vec<&'a str> {
    let field = |name: &'a str| name.strip_prefix(method)?.strip_prefix(' ')?.strip_prefix(path)?.strip_prefix('.');
    table.iter().filter(|support| !support.includes(version)).filter_map(|support| field(support.name)).collect()
}
