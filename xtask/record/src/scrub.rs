//! Removes from a recording what must not be in it: names of the machine, and prose of the vendor.

/// Replaces names and fields that must not be in a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scrubber {
    /// Names of this machine and their replacements, in the order in which they are replaced.
    names: Vec<(String, String)>,
}

/// Fields that contain prose of the vendor or the name of the machine: a text that only lines with the field contain,
/// the field, and its replacement.
const FIELDS: [(&str, &str, &str); 6] = [
    // Claude Code describes its commands, models and agents.
    ("\"commands\":[", "description", ""),
    ("\"commands\":[", "argumentHint", ""),
    // Codex repeats its instructions to the model in plan mode.
    ("thread/settings/updated", "developer_instructions", ""),
    // If the host requests raw items, Codex sends all its other instructions as well.
    ("\"role\":\"developer\"", "text", INSTRUCTIONS),
    ("\"text\":\"<environment_context>", "text", INSTRUCTIONS),
    ("remoteControl/status/changed", "serverName", "host"),
];

/// Replaces the vendor's instructions to the model.
const INSTRUCTIONS: &str = "(instructions of the agent)";

/// Codex names the root of its tree of agents `/root`, which looks like a home directory. This is the beginning of the
/// field, and its replacement.
const AGENT_TREE: (&str, &str) = ("\"agentPath\":\"/root", "\"agentPath\":\"/agents");

impl Scrubber {
    pub(crate) fn new(mut names: Vec<(String, String)>) -> Self {
        names.retain(|(name, _)| !name.is_empty());
        // A path that starts with another path must be replaced before it.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { names }
    }

    /// Replaces the names of this machine in a text.
    pub(crate) fn scrub_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, replacement) in &self.names {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), replacement);
            }
        }
        text
    }

    /// Replaces names and fields in a line of the wire. Everything else stays byte for byte.
    pub(crate) fn scrub_line(&self, line: &str) -> String {
        let mut line = self.scrub_text(line).replace(AGENT_TREE.0, AGENT_TREE.1);
        for (marker, field, replacement) in FIELDS {
            if line.contains(marker) {
                line = replace_field(&line, field, replacement);
            }
        }
        line
    }
}

/// Replaces every string value of a field. Everything else stays as it is.
fn replace_field(line: &str, field: &str, replacement: &str) -> String {
    let key = format!("\"{field}\":\"");
    let mut rest = line;
    let mut clean = String::with_capacity(line.len());
    while let Some(at) = rest.find(&key) {
        let value = at + key.len();
        clean.push_str(&rest[..value]);
        clean.push_str(replacement);
        rest = &rest[value..];
        let mut escaped = false;
        let end = rest.find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::BufReader;

    use interlingua_recordings::Transcripts;
    use interlingua_wirelog::{Entry, Input, Reader};

    use super::*;

    #[test]
    fn the_longer_path_is_replaced_first() {
        let names = [("/tmp/x", "/other"), ("/tmp/x/home", "/home/agent")];
        let scrubber = Scrubber::new(names.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec());
        assert_eq!(scrubber.scrub_text("see /tmp/x/home/a and /tmp/x/b"), "see /home/agent/a and /other/b");
    }

    #[test]
    fn the_agent_path_of_codex_does_not_look_like_a_home_directory() {
        let clean = r#"{"item":{"type":"subAgentActivity","agentPath":"/agents/adder","agentThreadId":"t"}}"#;
        let raw = clean.replace("/agents", "/root");
        assert_eq!(Scrubber::default().scrub_line(&raw), clean);
        assert_eq!(Scrubber::default().scrub_line(clean), clean);
        let other_field = raw.replace("agentPath", "path");
        assert_eq!(Scrubber::default().scrub_line(&other_field), other_field);
    }

    #[test]
    fn the_recordings_in_the_repository_are_scrubbed() {
        let files = Transcripts::in_repository().all().unwrap();
        assert!(files.len() > 400, "{}", files.len());
        for file in files.into_iter().map(|recording| recording.path) {
            let mut reader = Reader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
            while let Some(Entry::Record(record)) = reader.next().unwrap() {
                if let Input::Received(line) = &record.input {
                    assert_eq!(Scrubber::default().scrub_line(line), *line, "{}", file.display());
                }
            }
        }
    }

    #[test]
    fn prose_of_the_vendor_is_removed_and_everything_else_is_kept() {
        let codex =
            r#"{"method":"thread/settings/updated","params":{"developer_instructions":"Plan first.","model":"x"}}"#;
        assert_eq!(Scrubber::default().scrub_line(codex), codex.replace("Plan first.", ""));
        let raw = r#"{"method":"rawResponseItem/completed","params":{"item":{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be \"good\"."}]}}}"#;
        assert_eq!(Scrubber::default().scrub_line(raw), raw.replace(r#"Be \"good\"."#, INSTRUCTIONS));
        let environment = raw.replace("developer", "user").replace("Be ", "<environment_context>");
        assert!(!Scrubber::default().scrub_line(&environment).contains("environment_context"));
        let prompt = raw.replace("developer", "user");
        assert_eq!(Scrubber::default().scrub_line(&prompt), prompt);
        let line = r#"{"type":"control_response","response":{"commands":[{"name":"a","description":"Say \"hi\".","argumentHint":"x"}],"models":[{"description":"Big"}]}}"#;
        assert_eq!(
            Scrubber::default().scrub_line(line),
            r#"{"type":"control_response","response":{"commands":[{"name":"a","description":"","argumentHint":""}],"models":[{"description":""}]}}"#
        );
        let request = r#"{"type":"control_request","request":{"description":"Run it"}}"#;
        assert_eq!(Scrubber::default().scrub_line(request), request);
    }
}
