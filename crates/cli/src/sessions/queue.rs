//! `interlingua sessions queue`.

use std::io::Write as _;

use interlingua_client::Client;

use super::print;
use super::server_args::client_error;
use crate::Outcome;
use crate::output::Output;
use crate::show::sanitize;

/// Number of characters that are shown of a message.
const MAX_PREVIEW_CHARS: usize = 100;

pub(super) async fn list(client: &Client, id: &str, json: bool) -> anyhow::Result<Outcome> {
    let messages = client.queued_messages(id).await.map_err(client_error)?;
    if json {
        return print(&serde_json::json!({ "messages": messages }).to_string());
    }
    if messages.is_empty() {
        return print("no queued messages");
    }
    let mut output = Output::new();
    for message in messages {
        writeln!(output, "{}  {}", sanitize(&message.id), preview(&message.message))?;
    }
    output.flush()?;
    Ok(Outcome::Success)
}

/// The start of a text on one line.
fn preview(text: &str) -> String {
    let line = sanitize(text).replace('\n', " ");
    match line.char_indices().nth(MAX_PREVIEW_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(preview("a\nb"), "a b");
        let long = preview(&"ü".repeat(MAX_PREVIEW_CHARS + 1));
        assert_eq!(long, format!("{}…", "ü".repeat(MAX_PREVIEW_CHARS)));
    }
}
