//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use interlingua_schema::Timestamp;

/// Now, to the millisecond. A clock that stands before 1970 counts as 1970.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
