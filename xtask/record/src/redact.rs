//! Redacts what is different in every run: ids, times, process ids, ports, hashes.
//!
//! Each is replaced by a fixed placeholder of its kind, so that two runs can be compared.

use serde_json::Value;

/// Fields whose values are different in every run: times, durations, ids of processes and the like.
const VARYING_FIELDS: [&str; 34] = [
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

/// Redacts a value.
pub(crate) fn redact_value(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let redacted = fields.iter().map(|(key, inner)| {
                let varies = VARYING_FIELDS.contains(&key.as_str()) || key.ends_with("Ms") || key.ends_with("_ms");
                let inner = match inner {
                    // Whether the field has a value is compared; the value itself is not.
                    Value::Null => Value::Null,
                    _ if varies => Value::from("-"),
                    // A sub-agent of Codex that was just started may or may not run already.
                    Value::String(state) if state == "pendingInit" => Value::from("running"),
                    inner => redact_value(inner),
                };
                (redact_text(key), inner)
            });
            Value::Object(redacted.collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(redact_value).collect()),
        Value::String(text) => Value::from(redact_text(text)),
        // Times in seconds or milliseconds. No other number is that big.
        Value::Number(number) if number.as_f64().is_some_and(|number| number > 1e9) => Value::from("-"),
        other => other.clone(),
    }
}

/// Redacts a text.
pub(crate) fn redact_text(text: &str) -> String {
    redact_words(&redact_date_folders(text))
}

/// Replaces the folders of a day, such as `/2026/11/15/`, in which Codex stores its sessions.
fn redact_date_folders(text: &str) -> String {
    let mut rest: &[&str] = &text.split('/').collect::<Vec<_>>();
    let mut clean = Vec::with_capacity(rest.len());
    while let [first, others @ ..] = rest {
        rest = match others {
            [month, day, later @ ..] if [(first, 4), (month, 2), (day, 2)].iter().all(has_digits) => {
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

/// Whether a text consists of exactly this many digits.
fn has_digits((text, digits): &(&&str, usize)) -> bool {
    text.len() == *digits && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn redact_words(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut word = String::new();
    // Texts also contain durations, such as "duration_ms: 12".
    let mut is_duration = false;
    for letter in text.chars().chain(std::iter::once('\0')) {
        if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ':' | '.') {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            clean.push_str(&if is_duration && is_number { "-".to_owned() } else { redact_word(&word) });
            is_duration = word.ends_with("_ms:");
            word.clear();
        }
        if letter != '\0' {
            clean.push(letter);
        }
    }
    clean
}

/// Redacts a word of letters, digits and the punctuation of ids and times.
fn redact_word(word: &str) -> String {
    let mut end = word.trim_end_matches(['.', ':', '-']);
    if let Some((id, _)) = end.split_once(':').filter(|(id, _)| is_native_id(id)) {
        // The questions of one request share an id and have a number each.
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
        // Claude Code invents file names for plans.
        "<name>.md"
    } else {
        end
    };
    format!("{clean}{tail}")
}

/// Whether a word is a time: `2026-11-15T23:52:01Z`, with dashes instead of colons in file names, or only a date.
fn is_time(word: &str) -> bool {
    let shape: String =
        word.chars().take(10).map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape == "0000-00-00" && word.get(10..11).is_none_or(|next| next == "T")
}

/// Whether a word contains a UUID.
fn has_uuid(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.windows(36).any(|window| {
        window.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

/// Whether a word is an id of OpenCode, such as `ses_e1e5ca0c4ffe2mDprGaJUgkVHc`.
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
        for (raw, redacted) in [
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
            assert_eq!(redact_text(raw), redacted);
        }
    }

    #[test]
    fn times_and_durations_are_redacted_and_null_is_kept() {
        let raw =
            json!({"durationMs": 12, "startedAtMs": null, "a": [{"pid": 7, "n": 3}], "at": 1_794_786_891_039_u64});
        assert_eq!(
            redact_value(&raw),
            json!({"durationMs": "-", "startedAtMs": null, "a": [{"pid": "-", "n": 3}], "at": "-"})
        );
    }
}
