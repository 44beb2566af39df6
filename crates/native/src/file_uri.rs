//! Paths of local files as URIs, which contents of the protocol use.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Prefix of the URI of a local file.
const SCHEME: &str = "file://";
/// Host of a local file, which may be left out.
const LOCAL_HOST: &str = "localhost/";
/// Characters that would end the path, or that a URI must not contain.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`').add(b'{').add(b'}');

/// The path of the URI of a local file, decoded and without a fragment such as `#L3`; `None` for other URIs.
#[must_use]
pub fn path_of_file_uri(uri: &str) -> Option<String> {
    let path = uri.strip_prefix(SCHEME)?;
    let path = path.strip_prefix(LOCAL_HOST).map_or(path, |_| &path[LOCAL_HOST.len() - 1..]);
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    Some(percent_decode_str(path).decode_utf8().map_or_else(|_| path.to_owned(), Cow::into_owned))
}

/// The URI of a local file.
#[must_use]
pub fn file_uri(path: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(path, ENCODED))
}
