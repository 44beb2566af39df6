//! A query in the language of the index.

use crate::search::words::Phrase;

/// The condition on the index for documents with all phrases, of an agent if one is given.
pub(crate) fn match_expression(phrases: &[Phrase], agent: Option<&str>) -> String {
    let quote = |phrase: &Phrase| format!("\"{}\"{}", phrase.text(), if phrase.is_prefix() { " *" } else { "" });
    let phrases: Vec<String> = phrases.iter().map(quote).collect();
    let expression = format!("text : ({})", phrases.join(" AND "));
    match agent.and_then(Phrase::new) {
        Some(agent) => format!("{expression} AND agent : \"{}\"", agent.text()),
        None => expression,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::words::parse_query;

    fn expression(query: &str) -> String {
        match_expression(&parse_query(query), None)
    }

    #[test]
    fn a_query_is_words_and_phrases_and_nothing_else() {
        for (query, expected) in [
            ("fix build", r#"text : ("fix" AND "build")"#),
            (r#""fix the build" now"#, r#"text : ("fix the build" AND "now")"#),
            ("src/main.rs", r#"text : ("src main rs")"#),
            ("err*", r#"text : ("err" *)"#),
            ("NEAR(a b) OR -c ^d text:e", r#"text : ("NEAR a" AND "b" AND "OR" AND "c" AND "d" AND "text e")"#),
            (r#"an "open quote"#, r#"text : ("an" AND "open quote")"#),
            ("a\u{0}b", r#"text : ("a b")"#),
            ("東京", r#"text : ("東 京")"#),
        ] {
            assert_eq!(expression(query), expected, "{query}");
        }
        assert_eq!(match_expression(&parse_query("a"), Some("claude")), r#"text : ("a") AND agent : "claude""#);
    }
}
