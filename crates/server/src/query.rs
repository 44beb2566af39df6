//! Query strings.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Query as Pairs};
use axum::http::request::Parts;
use interlingua_store::RawPayloads;

use crate::problem::Problem;

/// What follows the `?`. Names are taken in both spellings, `includeRaw` and `include_raw`; unknown ones are ignored.
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Pairs(pairs) = Pairs::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::invalid(format!("the query string cannot be read: {}", error.body_text())))?;
        Ok(Self(pairs))
    }
}

impl Query {
    /// The value of a parameter, given by its name with underscores.
    fn value(&self, name: &str) -> Result<Option<&str>, Problem> {
        let is_meant = |given: &str| given == name || is_camel_case_of(given, name);
        let mut values = self.0.iter().filter(|(given, _)| is_meant(given)).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(Problem::invalid(format!("the query has `{name}` more than once")).field(name));
        }
        Ok(first)
    }

    /// A number.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Problem> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            Problem::invalid(format!("the query's `{name}` should be a whole number, not negative; found {value:?}"))
                .field(name)
        })
    }

    /// A yes or no; the bare name is a yes, its absence a no.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.value(name)? {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1" | "") => Ok(true),
            Some(other) => {
                Err(Problem::invalid(format!("the query's `{name}` should be true or false; found {other:?}"))
                    .field(name))
            }
        }
    }

    /// Whether native payloads are asked for.
    pub(crate) fn raw(&self) -> Result<RawPayloads, Problem> {
        Ok(if self.flag("include_raw")? { RawPayloads::Include } else { RawPayloads::Omit })
    }
}

/// Whether `given` is `name` with its underscores taken out and the letters after them raised.
fn is_camel_case_of(given: &str, name: &str) -> bool {
    let mut raise = false;
    let expected = name.chars().filter_map(|letter| {
        if letter == '_' {
            raise = true;
            return None;
        }
        Some(if std::mem::take(&mut raise) { letter.to_ascii_uppercase() } else { letter })
    });
    given.chars().eq(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        Query(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn both_spellings_are_taken() {
        for name in ["includeRaw", "include_raw"] {
            assert_eq!(query(&[(name, "true")]).raw().unwrap(), RawPayloads::Include);
        }
        assert_eq!(query(&[("includeraw", "true")]).raw().unwrap(), RawPayloads::Omit);
        assert!(query(&[("includeRaw", "true"), ("include_raw", "true")]).raw().is_err());
    }

    #[test]
    fn what_is_no_number_or_no_flag_is_refused() {
        assert_eq!(query(&[("offset", "7")]).number::<u64>("offset").unwrap(), Some(7));
        assert_eq!(query(&[("limit", "7")]).number::<u64>("offset").unwrap(), None);
        for wrong in ["", "-1", "seven", "1.5", "99999999999999999999"] {
            assert!(query(&[("offset", wrong)]).number::<u64>("offset").is_err(), "{wrong}");
        }
        assert!(query(&[("hold", "")]).flag("hold").unwrap());
        assert!(query(&[("hold", "yes")]).flag("hold").is_err());
    }
}
