//! What the generated types stand on: dispatch on a tag without buffering, JSON kept as bytes where a schema has no
//! type for it, and decoding that survives a release it was not made for.
//!
//! Written out beside the generated modules, which depend on it and on serde alone.

mod adjacent;
mod decode;
mod fault;
mod json;
mod kind;
mod losses;
mod object;
mod open_enum;
mod reader;
mod tagged;

pub use self::decode::{DecodeError, Decoded, Native, Union};
pub use self::json::Json;
pub use self::losses::{LossList, Losses, Missing, Repair, Unknown, UnknownKind};

pub(crate) use self::adjacent::{Adjacent, Envelope, Parts, adjacent, content, write_unknown};
pub(crate) use self::decode::{decode, deserialize, readable};
pub(crate) use self::fault::Result as Read;
pub(crate) use self::kind::{Kinds, by_kind, kind_union, unknown_kind};
pub(crate) use self::losses::note_unknown_value;
pub(crate) use self::object::{Field, Keys, Lists, Object, Put, Slot, fill, found, mark, mask, object, write_object};
pub(crate) use self::open_enum::open_enum;
pub(crate) use self::reader::Reader;
pub(crate) use self::tagged::{Rest, Tagged, place_tagged, tagged, tagged_union, variant};
