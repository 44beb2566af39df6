//! Mapping between recorded ids and the host's ids.

use std::borrow::Cow;

/// Shortest id that is replaced in texts. A shorter one could occur in a line by chance.
const MIN_ID_LEN: usize = 12;

/// Pairs of a recorded id and the id that the host uses instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct IdMap(Vec<(String, String)>);

impl IdMap {
    /// Replaces `recorded` by `host` from now on.
    pub(crate) fn bind(&mut self, recorded: &str, host: &str) {
        if recorded != host && recorded.len() >= MIN_ID_LEN && !self.is_bound(recorded) {
            self.0.push((recorded.to_owned(), host.to_owned()));
        }
    }

    pub(crate) fn is_bound(&self, recorded: &str) -> bool {
        self.0.iter().any(|(known, _)| known == recorded)
    }

    /// The recorded id for an id of the host; the same id if there is none.
    pub(crate) fn to_recorded<'a>(&'a self, host: &'a str) -> &'a str {
        self.0.iter().find(|(_, known)| known == host).map_or(host, |(recorded, _)| recorded)
    }

    /// The host's id for a recorded id; the same id if there is none.
    pub(crate) fn to_host<'a>(&'a self, recorded: &'a str) -> &'a str {
        self.0.iter().find(|(known, _)| known == recorded).map_or(recorded, |(_, host)| host)
    }

    /// Replaces recorded ids in a text by the host's ids.
    pub(crate) fn rewrite<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (recorded, host) in &self.0 {
            if text.contains(recorded.as_str()) {
                text = text.replace(recorded.as_str(), host).into();
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_id_is_replaced_everywhere_by_the_hosts_id() {
        let mut ids = IdMap::default();
        ids.bind("aaaaaaaa-0000-4000", "bbbbbbbb-1111-4111");
        assert_eq!(ids.rewrite(r#"{"a":"aaaaaaaa-0000-4000","b":1}"#), r#"{"a":"bbbbbbbb-1111-4111","b":1}"#);
        assert_eq!(ids.to_recorded("bbbbbbbb-1111-4111"), "aaaaaaaa-0000-4000");
        assert_eq!(ids.to_host("aaaaaaaa-0000-4000"), "bbbbbbbb-1111-4111");
    }

    #[test]
    fn a_short_id_is_not_replaced_in_texts() {
        let mut ids = IdMap::default();
        ids.bind("1", "2");
        assert_eq!(ids.rewrite("1 and 1"), "1 and 1");
    }
}
