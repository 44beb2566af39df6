//! The environment of an agent's process, which is put together by name: nothing of the server's own environment gets
//! to an agent because nobody thought of it. Least of all the server's token.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::environment::Environment;

/// What programs need to find their way: other programs, home, language, the way to the network, who to trust there.
const EVERYBODYS: [&str; 26] = [
    "ALL_PROXY",
    "COLORTERM",
    "CURL_CA_BUNDLE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LC_*",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Where programs are looked for when the server itself does not know.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment of an agent: what every program needs and what is named in `own`, both from the server's
/// environment; `set`, which the driver decides; and what the session was given. Later ones win.
///
/// A name in `own` that ends in `*` stands for all that begin so.
pub(crate) fn variables(own: &[&str], set: &[(&str, &str)], session: &Environment) -> Vec<(OsString, OsString)> {
    let of_server = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        EVERYBODYS.iter().chain(own).any(|known| matches(known, &name))
    });
    let mut all = BTreeMap::from([("PATH".into(), PATH.into())]);
    all.extend(of_server);
    all.extend(set.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.extend(session.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.into_iter().collect()
}

fn matches(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => known == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_gets_through_and_the_session_has_the_last_word() {
        let session = Environment::from_iter([("SET".to_owned(), "by the session".to_owned())]);
        let all = variables(&["CARGO_PKG_*"], &[("SET", "by the driver"), ("ALSO", "set")], &session);
        let get = |name: &str| all.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
        assert_eq!((get("SET"), get("ALSO")), (Some("by the session"), Some("set")));
        assert!(get("PATH").is_some());
        // Cargo sets both for tests.
        assert_eq!(get("CARGO_PKG_NAME"), Some("interlingua-runtime"));
        assert_eq!(get("CARGO_MANIFEST_DIR"), None);
    }
}
