//! Functions and macros for generated code. Not a public API: it changes together with `interlingua-codegen`.

pub use crate::adjacent::{AdjacentUnion, Envelope, WithoutSiblings, read_envelope, write_unknown_message};
pub use crate::decode::{DecodeError, Decoded, Native, Union, decode, deserialize};
pub use crate::error::ReadResult;
pub use crate::field::{Field, Slot, WriteField};
pub use crate::kind::{KindUnion, read_by_kind, read_unknown_kind};
pub use crate::losses::report_unknown_value;
pub use crate::object::{
    KeyLists, Object, ObjectFields, check_required, found_mask, key_mask, read_object, write_object,
};
pub use crate::reader::Reader;
pub use crate::request::{HttpRequest, Request};
pub use crate::tagged::{TaggedObject, TaggedUnion, read_tagged, read_tagged_into};
pub use crate::{
    impl_deserialize, impl_from, impl_kind_union, impl_object, impl_tagged_union, open_enum, read_content, read_variant,
};
