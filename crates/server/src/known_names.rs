//! Refusing unknown names, with the known name that was probably meant.

use serde_json::json;

use crate::problem::Problem;

/// Similarity from which a known name is suggested. 1 stands for the same name.
const MIN_SIMILARITY: f64 = 0.8;

/// Refuses `given` unless it is one of the `known` names (422). `what` says what is named: "field".
pub(crate) fn expect_known(what: &str, given: &str, known: &[&'static str]) -> Result<(), Problem> {
    if known.contains(&given) {
        return Ok(());
    }
    let nearest = nearest_name(given, known);
    let hint = match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("expected one of {}", known.join(", ")),
    };
    let mut details = json!({ "field": given, "known": known });
    if let Some(nearest) = nearest {
        details["nearest"] = json!(nearest);
    }
    Err(Problem::unprocessable(format!("unknown {what} `{given}`; {hint}")).details(details))
}

/// The known name that is most similar to `given`, regardless of case and underscores; `None` if none is similar.
#[must_use]
pub fn nearest_name<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let normalize = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let given = normalize(given);
    let similarity = |name: &str| strsim::jaro_winkler(&given, &normalize(name));
    known
        .iter()
        .map(|name| (similarity(name), *name))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["agent", "agentMode", "permissionMode", "model", "directory", "limit"];

    #[test]
    fn the_nearest_name_ignores_case_and_underscores() {
        for (given, expected) in [
            ("permission_mode", "permissionMode"),
            ("permissonMode", "permissionMode"),
            ("agent-mode", "agentMode"),
            ("Model", "model"),
            ("modle", "model"),
            ("agents", "agent"),
            ("dir", "directory"),
        ] {
            assert_eq!(nearest_name(given, KNOWN), Some(expected), "{given}");
        }
        for given in ["", "x", "temperature", "ünïcode"] {
            assert_eq!(nearest_name(given, KNOWN), None, "{given}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        assert!(expect_known("field", "agent", KNOWN).is_ok());
        let text = |given| format!("{:?}", expect_known("field", given, KNOWN).unwrap_err());
        assert!(text("permission_mode").contains("unknown field `permission_mode`; did you mean `permissionMode`?"));
        assert!(text("temperature").contains("expected one of agent, agentMode, permissionMode"));
    }
}
