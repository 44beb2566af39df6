//! Which of the host's ids stands for which recorded one.

use std::borrow::Cow;

/// Ids shorter than this could stand in a line by chance, so they are not replaced in its text.
const LONG: usize = 12;

/// Pairs of a recorded id and the one that the host uses instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Ids(Vec<(String, String)>);

impl Ids {
    /// From now on, `host` stands for `recorded`.
    pub(crate) fn bind(&mut self, recorded: &str, host: &str) {
        if recorded != host && recorded.len() >= LONG && !self.is_bound(recorded) {
            self.0.push((recorded.to_owned(), host.to_owned()));
        }
    }

    pub(crate) fn is_bound(&self, recorded: &str) -> bool {
        self.0.iter().any(|(known, _)| known == recorded)
    }

    /// What the recording calls this.
    pub(crate) fn recorded<'a>(&'a self, host: &'a str) -> &'a str {
        self.0.iter().find(|(_, known)| known == host).map_or(host, |(recorded, _)| recorded)
    }

    /// What the host calls this.
    pub(crate) fn host<'a>(&'a self, recorded: &'a str) -> &'a str {
        self.0.iter().find(|(known, _)| known == recorded).map_or(recorded, |(_, host)| host)
    }

    /// A recorded text with the host's ids in it.
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
    fn the_hosts_id_stands_wherever_the_recorded_one_stood() {
        let mut ids = Ids::default();
        ids.bind("aaaaaaaa-0000-4000", "bbbbbbbb-1111-4111");
        assert_eq!(ids.rewrite(r#"{"a":"aaaaaaaa-0000-4000","b":1}"#), r#"{"a":"bbbbbbbb-1111-4111","b":1}"#);
        assert_eq!(ids.recorded("bbbbbbbb-1111-4111"), "aaaaaaaa-0000-4000");
        assert_eq!(ids.host("aaaaaaaa-0000-4000"), "bbbbbbbb-1111-4111");
    }

    #[test]
    fn a_short_id_is_left_alone_in_texts() {
        let mut ids = Ids::default();
        ids.bind("1", "2");
        assert_eq!(ids.rewrite("1 and 1"), "1 and 1");
    }
}
