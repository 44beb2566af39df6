//! `interlingua sessions label`.

use interlingua_client::{Client, UpdateSessionRequest};

use super::print;
use super::server_args::client_error;
use crate::Outcome;

/// Parses `NAME=VALUE`.
pub(super) fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected NAME=VALUE, found {text:?}")),
    }
}

pub(super) async fn change(
    client: &Client,
    id: &str,
    labels: Vec<(String, String)>,
    remove: Vec<String>,
    json: bool,
) -> anyhow::Result<Outcome> {
    let mut update = UpdateSessionRequest::default();
    update.labels = labels.into_iter().map(|(name, value)| (name, Some(value))).collect();
    update.labels.extend(remove.into_iter().map(|name| (name, None)));
    let session = client.update_session(id, &update).await.map_err(client_error)?;
    if json {
        return print(&serde_json::to_value(&session)?.to_string());
    }
    let labels: Vec<String> = session.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    print(&if labels.is_empty() { "no labels".to_owned() } else { labels.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_name_and_a_value() {
        assert_eq!(parse("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(parse("a="), Ok(("a".to_owned(), String::new())));
        assert!(parse("=b").is_err() && parse("a").is_err());
    }
}
