//! Entry points for the fuzz targets: reading request bodies, which is private otherwise.

use axum::response::IntoResponse;
use interlingua_runtime::SessionSecrets;
use serde::de::DeserializeOwned;

use crate::agents::InstallRequest;
use crate::body::parse;
use crate::messages::SendMessage;
use crate::requests::{ReplyPermission, ReplyQuestion};
use crate::sessions::{CreateSession, UpdateSession};

/// Reads the body of one of the requests.
///
/// # Errors
///
/// The status of the answer to an invalid body.
pub fn parse_body(request: u8, body: &[u8]) -> Result<(), u16> {
    match request % 7 {
        0 => parse_as::<CreateSession>(body),
        1 => parse_as::<UpdateSession>(body),
        2 => parse_as::<SendMessage>(body),
        3 => parse_as::<ReplyPermission>(body),
        4 => parse_as::<ReplyQuestion>(body),
        5 => parse_as::<SessionSecrets>(body),
        _ => parse_as::<InstallRequest>(body),
    }
}

fn parse_as<T: DeserializeOwned>(body: &[u8]) -> Result<(), u16> {
    parse::<T>(body).map(|_| ()).map_err(|problem| problem.into_response().status().as_u16())
}
