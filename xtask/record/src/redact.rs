//! What is different in every run: ids, times, process ids, ports, hashes.
//!
//! Each is replaced by a word for what it is, always the same, so that two runs can be compared.

use serde_json::Value;

/// Fields whose value says when, how long, or by which process.
const FIELDS: [&str; 34] = [
    "pid",
    "processId",
    "process_id",
    "slug",
    "signature",
    "userAgent",
    "run_id",
    "task_id",
    "agent_id",
    "agentNickname",
    "duration",
    "durationMs",
    "duration_ms",
    "duration_api_ms",
    "startedAt",
    "completedAt",
    "createdAt",
    "updatedAt",
    "recencyAt",
    "timestamp",
    "time",
    "date",
    "next",
    "estimated_tokens",
    "messaging_socket_path",
    "output_file",
    "thinking_duration_ms",
    "uptime",
    "emittedAtMs",
    "end_time",
    "ttft_ms",
    "snapshot",
    "installationId",
    "agentId",
];

/// The value without what is different in every run.
pub(crate) fn value(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let each = fields.iter().map(|(key, inner)| {
                let varies = FIELDS.contains(&key.as_str()) || key.ends_with("Ms") || key.ends_with("_ms");
                let inner = match inner {
                    // Whether it is there is worth comparing; what it is, is not.
                    Value::Null => Value::Null,
                    _ if varies => Value::from("-"),
                    // A sub-agent of Codex that was just started is about to run, or already does.
                    Value::String(state) if state == "pendingInit" => Value::from("running"),
                    inner => self::value(inner),
                };
                (text(key), inner)
            });
            Value::Object(each.collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(self::value).collect()),
        Value::String(words) => Value::from(text(words)),
        // Times in seconds and milliseconds; nothing else is that big.
        Value::Number(number) if number.as_f64().is_some_and(|number| number > 1e9) => Value::from("-"),
        other => other.clone(),
    }
}

/// The text without what is different in every run.
pub(crate) fn text(text: &str) -> String {
    words(&date_folders(text))
}

/// Replaces the folders of a day, `/2026/11/15/`: Codex keeps its sessions in them.
fn date_folders(text: &str) -> String {
    let mut rest: &[&str] = &text.split('/').collect::<Vec<_>>();
    let mut clean = Vec::with_capacity(rest.len());
    while let [first, others @ ..] = rest {
        rest = match others {
            [month, day, later @ ..] if [(first, 4), (month, 2), (day, 2)].iter().all(is_number_of) => {
                clean.push("<date>");
                later
            }
            _ => {
                clean.push(*first);
                others
            }
        };
    }
    clean.join("/")
}

/// Whether a text is a number with exactly this many digits.
fn is_number_of((text, digits): &(&&str, usize)) -> bool {
    text.len() == *digits && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn words(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut word = String::new();
    // "duration_ms: 12" is also said in words.
    let mut measure = false;
    for letter in text.chars().chain(std::iter::once('\0')) {
        if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ':' | '.') {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            let number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            clean.push_str(&if measure && number { "-".to_owned() } else { self::word(&word) });
            measure = word.ends_with("_ms:");
            word.clear();
        }
        if letter != '\0' {
            clean.push(letter);
        }
    }
    clean
}

/// A word of letters, digits and what ids and times have in them.
fn word(word: &str) -> String {
    let mut end = word.trim_end_matches(['.', ':', '-']);
    if let Some((id, _)) = end.split_once(':').filter(|(id, _)| is_native_id(id)) {
        // Several questions in one request have one id, and a number each.
        end = id;
    }
    let tail = &word[end.len()..];
    let clean = if is_time(end) {
        "<time>"
    } else if has_uuid(end) {
        "<uuid>"
    } else if is_native_id(end) {
        "<id>"
    } else if end.len() >= 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "<hash>"
    } else if end.starts_with("127.0.0.1:") {
        "127.0.0.1:<port>"
    } else if end.rsplit_once('.').is_some_and(|(_, kind)| kind == "md") && end.matches('-').count() >= 3 {
        // Claude Code makes up names for plans.
        "<name>.md"
    } else {
        end
    };
    format!("{clean}{tail}")
}

/// `2026-11-15T23:52:01Z`, with dashes for colons in names of files, or only the date.
fn is_time(word: &str) -> bool {
    let shape: String =
        word.chars().take(10).map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape == "0000-00-00" && word.get(10..11).is_none_or(|next| next == "T")
}

/// Whether a part of it has the shape of a UUID.
fn has_uuid(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.windows(36).any(|window| {
        window.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

/// OpenCode's ids: `ses_e1e5ca0c4ffe2mDprGaJUgkVHc`.
fn is_native_id(word: &str) -> bool {
    let Some((prefix, rest)) = word.split_once('_') else { return false };
    prefix.len() == 3
        && rest.len() >= 20
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && rest.bytes().take(10).all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_times_ports_and_hashes_are_redacted_and_nothing_else() {
        for (wild, tame) in [
            ("thread 01a1e1a2-952c-7360-8170-54fa7ec436a2.", "thread <uuid>."),
            ("at 2026-11-15T23:52:01.123Z!", "at <time>!"),
            ("rollout-2026-11-15T23-52-01-01a1e19f-fd48-7d33-95fc-76183369f309.jsonl", "<uuid>"),
            ("/sessions/2026/11/15/x.jsonl and /2026/1/15", "/sessions/<date>/x.jsonl and /2026/1/15"),
            ("/session/ses_e1e5ca0c4ffe2mDprGaJUgkVHc/abort", "/session/<id>/abort"),
            ("que_1e3582a790015607lpk5jgVKU9:1", "<id>:1"),
            ("92346d4eeedf740e17d95697c5e57bba1e38f8c9", "<hash>"),
            ("http://127.0.0.1:4711/v1", "http://127.0.0.1:<port>/v1"),
            ("/plans/plan-the-rewrite-happy-lion.md", "/plans/<name>.md"),
            ("call_t1_0_0 in item_t1_0 at 12:30", "call_t1_0_0 in item_t1_0 at 12:30"),
            ("tokens: 9, duration_ms: 306", "tokens: 9, duration_ms: -"),
            ("Grüße, 世界! a-b.md", "Grüße, 世界! a-b.md"),
        ] {
            assert_eq!(text(wild), tame);
        }
    }

    #[test]
    fn fields_that_say_when_or_how_long_are_redacted_and_absence_is_kept() {
        let wild =
            json!({"durationMs": 12, "startedAtMs": null, "a": [{"pid": 7, "n": 3}], "at": 1_794_786_891_039_u64});
        assert_eq!(
            value(&wild),
            json!({"durationMs": "-", "startedAtMs": null, "a": [{"pid": "-", "n": 3}], "at": "-"})
        );
    }
}
