//! A query in the language of the index.

use crate::search::words::Phrase;

/// The condition on the index for documents with all phrases, of an agent if one is given.
pub(crate) fn match_expression(phrases: &[Phrase], agent: Option<&str>) -> String {
    match_all("text", phrases.iter().map(|phrase| quote(phrase.text(), phrase.is_prefix())), agent)
}

/// The condition for long events with the words of all phrases, in any order.
pub(crate) fn match_words(phrases: &[Phrase], agent: Option<&str>) -> String {
    match_all("words", phrases.iter().flat_map(Phrase::words).map(|(word, is_prefix)| quote(word, is_prefix)), agent)
}

fn quote(text: &str, is_prefix: bool) -> String {
    format!("\"{text}\"{}", if is_prefix { " *" } else { "" })
}

fn match_all(column: &str, terms: impl Iterator<Item = String>, agent: Option<&str>) -> String {
    let expression = format!("{column} : ({})", terms.collect::<Vec<_>>().join(" AND "));
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
        let words = |query| match_words(&parse_query(query), None);
        assert_eq!(words("\"fix the\" bui*"), r#"words : ("fix" AND "the" AND "bui" *)"#);
        assert_eq!(match_expression(&parse_query("a"), Some("claude")), r#"text : ("a") AND agent : "claude""#);
    }
}
