//! Compiles and uses the generated source of every construct: the snapshots of [`generate`](crate::generate).

mod constructs;
mod duplicates;
mod json;
mod needed_fields;
mod order;
mod repairs;
mod requests;
mod unknown;

/// A module per snapshot.
macro_rules! compiled {
    ($($construct:ident)*) => {
        $(#[allow(dead_code, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
        mod $construct {
            include!(concat!("../snapshots/", stringify!($construct), ".snap.rs"));
        })*
    };
}

compiled! {
    adjacent all_of any_of constants draft_07 draft_2020_12 http ids kinds maps merged name_collisions names needed
    nullable only open_api open_enum recursive ref_union responses sent several_tags two_key_tags
}

use interlingua_native_runtime::{Decoded, Losses, Native};
use serde_json::Value;

/// Decodes a text without losses.
#[track_caller]
fn decode<T: Native>(text: &str) -> T {
    let decoded = decode_leniently::<T>(text);
    assert_eq!(decoded.losses, Losses::default());
    decoded.value
}

/// Decodes a text that may have losses.
#[track_caller]
fn decode_leniently<T: Native>(text: &str) -> Decoded<T> {
    T::decode(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Encodes a value.
#[track_caller]
fn encode<T: Native>(value: &T) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Decodes a text, and asserts that encoding it gives the same JSON, and decoding that the same value.
#[track_caller]
fn round_trip<T: Native + PartialEq + std::fmt::Debug>(text: &str) -> T {
    let value = decode::<T>(text);
    assert_eq!(encode(&value), serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(decode::<T>(&serde_json::to_string(&value).unwrap()), value);
    value
}

/// The paths of the removed parts.
fn removed<T>(decoded: &Decoded<T>) -> Vec<&str> {
    decoded.losses.repairs.iter().map(|repair| repair.path.as_str()).collect()
}

/// The unknown parts, as `path: reason`.
fn unknown<T>(decoded: &Decoded<T>) -> Vec<String> {
    decoded.losses.unknown.iter().map(|unknown| format!("{}: {}", unknown.path, unknown.reason)).collect()
}
