//! What must not stand in a recording: where it was made, and what the vendor wrote.

/// Replaces what is only true on this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scrubber {
    /// What is replaced, and by what; earlier ones first.
    names: Vec<(String, String)>,
}

/// Fields in which the vendor speaks, or the machine is named: what a line has in it that has them, the field, and what
/// stands there instead.
const FIELDS: [(&str, &str, &str); 6] = [
    // Claude Code introduces its commands, models and agents.
    ("\"commands\":[", "description", ""),
    ("\"commands\":[", "argumentHint", ""),
    // Codex repeats what it tells the model in plan mode.
    ("thread/settings/updated", "developer_instructions", ""),
    // And, where the raw items are asked for, everything else that it tells the model.
    ("\"role\":\"developer\"", "text", INSTRUCTIONS),
    ("\"text\":\"<environment_context>", "text", INSTRUCTIONS),
    ("remoteControl/status/changed", "serverName", "host"),
];

/// What stands for the text with which a vendor prepares the model.
const INSTRUCTIONS: &str = "(instructions of the agent)";

/// Codex calls the root of its tree of agents `/root`, which reads like somebody's home directory: the beginning of the
/// field in which it says so, and what it begins with instead.
const AGENT_TREE: (&str, &str) = ("\"agentPath\":\"/root", "\"agentPath\":\"/agents");

impl Scrubber {
    pub(crate) fn new(mut names: Vec<(String, String)>) -> Self {
        names.retain(|(name, _)| !name.is_empty());
        // A path that begins like another must be seen first.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { names }
    }

    /// A text without this machine's names.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, other) in &self.names {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), other);
            }
        }
        text
    }

    /// A line of the wire: otherwise byte for byte what was sent.
    pub(crate) fn line(&self, line: &str) -> String {
        let mut line = self.text(line).replace(AGENT_TREE.0, AGENT_TREE.1);
        for (mark, field, instead) in FIELDS {
            if line.contains(mark) {
                line = replaced(&line, field, instead);
            }
        }
        line
    }
}

/// `line` with every string value of `field` replaced, and everything else as it is.
fn replaced(line: &str, field: &str, by: &str) -> String {
    let key = format!("\"{field}\":\"");
    let mut rest = line;
    let mut clean = String::with_capacity(line.len());
    while let Some(at) = rest.find(&key) {
        let value = at + key.len();
        clean.push_str(&rest[..value]);
        clean.push_str(by);
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
        assert_eq!(scrubber.text("see /tmp/x/home/a and /tmp/x/b"), "see /home/agent/a and /other/b");
    }

    #[test]
    fn a_sub_agent_of_codex_does_not_look_like_a_file_of_the_machine() {
        let clean = r#"{"item":{"type":"subAgentActivity","agentPath":"/agents/adder","agentThreadId":"t"}}"#;
        let wild = clean.replace("/agents", "/root");
        assert_eq!(Scrubber::default().line(&wild), clean);
        assert_eq!(Scrubber::default().line(clean), clean);
        let elsewhere = wild.replace("agentPath", "path");
        assert_eq!(Scrubber::default().line(&elsewhere), elsewhere);
    }

    #[test]
    fn nothing_that_is_kept_has_anything_left_to_scrub() {
        let files = Transcripts::in_repository().all().unwrap();
        assert!(files.len() > 400, "{}", files.len());
        for file in files.into_iter().map(|recording| recording.path) {
            let mut reader = Reader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
            while let Some(Entry::Record(record)) = reader.next().unwrap() {
                if let Input::Received(line) = &record.input {
                    assert_eq!(Scrubber::default().line(line), *line, "{}", file.display());
                }
            }
        }
    }

    #[test]
    fn the_vendors_prose_is_taken_out_and_the_rest_is_left_as_it_is() {
        let codex =
            r#"{"method":"thread/settings/updated","params":{"developer_instructions":"Plan first.","model":"x"}}"#;
        assert_eq!(Scrubber::default().line(codex), codex.replace("Plan first.", ""));
        let raw = r#"{"method":"rawResponseItem/completed","params":{"item":{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be \"good\"."}]}}}"#;
        assert_eq!(Scrubber::default().line(raw), raw.replace(r#"Be \"good\"."#, INSTRUCTIONS));
        let where_it_is = raw.replace("developer", "user").replace("Be ", "<environment_context>");
        assert!(!Scrubber::default().line(&where_it_is).contains("environment_context"));
        let said = raw.replace("developer", "user");
        assert_eq!(Scrubber::default().line(&said), said);
        let line = r#"{"type":"control_response","response":{"commands":[{"name":"a","description":"Say \"hi\".","argumentHint":"x"}],"models":[{"description":"Big"}]}}"#;
        assert_eq!(
            Scrubber::default().line(line),
            r#"{"type":"control_response","response":{"commands":[{"name":"a","description":"","argumentHint":""}],"models":[{"description":""}]}}"#
        );
        let request = r#"{"type":"control_request","request":{"description":"Run it"}}"#;
        assert_eq!(Scrubber::default().line(request), request);
    }
}
