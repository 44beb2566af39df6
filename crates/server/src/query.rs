//! Extractor of query parameters.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Query as Pairs};
use axum::http::request::Parts;
use interlingua_store::RawPayloads;

use crate::app::App;
use crate::known_names::expect_known;
use crate::problem::Problem;

/// The query parameters. Names are accepted in both spellings, `includeRaw` and `include_raw`. Unknown ones are ignored,
/// unless the handler calls [`expect_only`](Query::expect_only) or uses [`NoQuery`] instead.
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    /// Whether unknown parameters are ignored everywhere, as clients of another API expect.
    ignores_unknown: bool,
}

impl FromRequestParts<App> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Pairs(pairs) = Pairs::from_request_parts(parts, app)
            .await
            .map_err(|error| Problem::invalid(format!("the query string is invalid: {}", error.body_text())))?;
        Ok(Self { pairs, ignores_unknown: app.config().compat.is_some() })
    }
}

/// Extractor of a list or a stream that has no query parameters: any is refused (422).
pub(crate) struct NoQuery;

impl FromRequestParts<App> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Query::from_request_parts(parts, app).await?.expect_only(&[]).map(|()| Self)
    }
}

impl Query {
    /// Refuses parameters other than these (422), which are written with underscores. Lists use it: a filter that is
    /// ignored would answer too much.
    pub(crate) fn expect_only(&self, known: &[&'static str]) -> Result<(), Problem> {
        for (given, _) in &self.pairs {
            if !self.ignores_unknown && !known.iter().any(|name| is_camel_case_of(given, name)) {
                expect_known("query parameter", given, known)?;
            }
        }
        Ok(())
    }

    /// Value of a parameter. `name` is written with underscores.
    fn value(&self, name: &str) -> Result<Option<&str>, Problem> {
        let matches = |given: &str| given == name || is_camel_case_of(given, name);
        let mut values = self.pairs.iter().filter(|(given, _)| matches(given)).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(Problem::invalid(format!("the query parameter `{name}` is given more than once")).field(name));
        }
        Ok(first)
    }

    /// A parameter that is text. An empty value counts as absent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        Ok(self.value(name)?.filter(|value| !value.is_empty()))
    }

    /// All values of a parameter that may be repeated.
    pub(crate) fn texts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.pairs.iter().filter(move |(given, _)| given == name || is_camel_case_of(given, name));
        values.map(|(_, value)| value.as_str())
    }

    /// Parses a parameter that is a number.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Problem> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            Problem::invalid(format!(
                "expected the query parameter `{name}` to be a non-negative integer, found {value:?}"
            ))
            .field(name)
        })
    }

    /// Parses a boolean parameter. A name without a value is true; an absent parameter is false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.value(name)? {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1" | "") => Ok(true),
            Some(other) => Err(Problem::invalid(format!(
                "expected the query parameter `{name}` to be true or false, found {other:?}"
            ))
            .field(name)),
        }
    }

    /// Parses `include_raw`: whether events include their native payload.
    pub(crate) fn raw_payloads(&self) -> Result<RawPayloads, Problem> {
        Ok(if self.flag("include_raw")? { RawPayloads::Include } else { RawPayloads::Omit })
    }
}

/// Whether `given` is `name` in camel case.
fn is_camel_case_of(given: &str, name: &str) -> bool {
    let mut after_underscore = false;
    let expected = name.chars().filter_map(|letter| {
        if letter == '_' {
            after_underscore = true;
            return None;
        }
        Some(if std::mem::take(&mut after_underscore) { letter.to_ascii_uppercase() } else { letter })
    });
    given.chars().eq(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Query { pairs, ignores_unknown: false }
    }

    #[test]
    fn both_spellings_are_accepted() {
        for name in ["includeRaw", "include_raw"] {
            assert_eq!(query(&[(name, "true")]).raw_payloads().unwrap(), RawPayloads::Include);
        }
        assert_eq!(query(&[("includeraw", "true")]).raw_payloads().unwrap(), RawPayloads::Omit);
        assert!(query(&[("includeRaw", "true"), ("include_raw", "true")]).raw_payloads().is_err());
    }

    #[test]
    fn unknown_parameters_are_refused_in_both_spellings() {
        let known = &["include_raw", "limit"];
        for name in ["includeRaw", "include_raw", "limit"] {
            assert!(query(&[(name, "1")]).expect_only(known).is_ok(), "{name}");
        }
        let problem = query(&[("limit", "1"), ("includeraw", "1")]).expect_only(known).unwrap_err();
        assert!(format!("{problem:?}").contains("unknown query parameter `includeraw`; did you mean `include_raw`?"));
    }

    #[test]
    fn invalid_numbers_and_booleans_are_refused() {
        assert_eq!(query(&[("offset", "7")]).number::<u64>("offset").unwrap(), Some(7));
        assert_eq!(query(&[("limit", "7")]).number::<u64>("offset").unwrap(), None);
        for value in ["", "-1", "seven", "1.5", "99999999999999999999"] {
            assert!(query(&[("offset", value)]).number::<u64>("offset").is_err(), "{value}");
        }
        assert!(query(&[("hold", "")]).flag("hold").unwrap());
        assert!(query(&[("hold", "yes")]).flag("hold").is_err());
    }
}
