//! Macros that declare the types of the event stream.

/// Declares an enum that is a string in JSON.
///
/// With `else`, the enum is open: the variant named there keeps a string that is not listed, and writes it back.
///
/// ```
/// interlingua_schema::wire_enum! {
///     /// What is searched.
///     pub enum Target {
///         /// The names of files.
///         Names = "names",
///         /// The contents of files.
///         Contents = "contents",
///     } else Unknown
/// }
///
/// assert_eq!(Target::from("names"), Target::Names);
/// assert_eq!(serde_json::from_str::<Target>(r#""symbols""#)?, Target::Unknown("symbols".into()));
/// assert_eq!(serde_json::to_string(&Target::from("symbols"))?, r#""symbols""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $value:literal,)+ }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* #[serde(rename = $value)] $variant,)+
        }

        impl $name {
            /// The value in JSON.
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $value,)+
                }
            }
        }

        impl $crate::wire::WriteJson for $name {
            fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant => out.extend_from_slice(concat!("\"", $value, "\"").as_bytes()),)+
                }
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $value:literal,)+ }
        else $(#[$open_meta:meta])* $open:ident
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* #[cfg_attr(feature = "json-schema", schemars(rename = $value))] $variant,)+
            #[doc = "A value that this version does not list, kept unchanged."]
            $(#[$open_meta])*
            #[cfg_attr(feature = "json-schema", schemars(skip))]
            $open($crate::wire::UnknownValue),
        }

        impl $name {
            /// The value in JSON.
            #[must_use]
            $vis fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $value,)+
                    Self::$open(value) => value,
                }
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                match value {
                    $($value => Self::$variant,)+
                    _ => Self::$open(value.into()),
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <::std::borrow::Cow<'de, str> as ::serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self::from(&*value))
            }
        }

        impl $crate::wire::WriteJson for $name {
            fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant => out.extend_from_slice(concat!("\"", $value, "\"").as_bytes()),)+
                    Self::$open(value) => $crate::wire::write_string(out, value),
                }
            }
        }
    };
}

/// Declares a struct that is an object in JSON, with its keys in the order of the fields.
///
/// A field declared with `?` is omitted if it has no value; any other field without a value is `null`. `as "key"` gives
/// the key if it differs from the field's name. `after decoding` names a function that is applied to every decoded
/// value. `keys in` names a module that gets a constant for every key.
///
/// `new` after the fields declares a constructor. It takes every field declared without `?`; every field declared with
/// `?` gets a setter with the name of the field.
///
/// ```
/// interlingua_schema::wire_struct! {
///     /// A search.
///     pub struct Search {
///         /// The text to find.
///         pub query: String,
///         /// What is searched. Omitted if the call does not say.
///         pub target as "in"?: Option<String>,
///     }
///     /// A search for this text.
///     new(query: impl Into<String>)
/// }
///
/// let search = Search::new("q");
/// assert_eq!(serde_json::to_string(&search)?, r#"{"query":"q"}"#);
/// let search = search.target("names".to_owned());
/// assert_eq!(serde_json::to_string(&search)?, r#"{"query":"q","in":"names"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$lifetime:lifetime>)? { $($fields:tt)* }
    ) => {
        $crate::wire_fields! {
            [wire_struct @declare [$(#[$meta])*] [::serde::Serialize, ::serde::Deserialize] [$vis] $name [$($lifetime)?]]
            [] $($fields)*
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($fields:tt)* }
        $(#[$new_meta:meta])* new($($argument:ident: $argument_type:ty),* $(,)?)
    ) => {
        $crate::wire_struct! { $(#[$meta])* $vis struct $name { $($fields)* } }
        $crate::wire_fields! {
            [wire_struct @new [$(#[$new_meta])*] $vis $name [$(($argument, $argument_type))*]] [] $($fields)*
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($fields:tt)* } keys in $module:ident
    ) => {
        $crate::wire_struct! { $(#[$meta])* $vis struct $name { $($fields)* } }
        $crate::wire_fields! { [wire_struct @keys $module] [] $($fields)* }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($fields:tt)* } after decoding $apply:path
    ) => {
        $crate::wire_fields! {
            [wire_struct @declare [$(#[$meta])*] [::serde::Serialize] [$vis] $name []] [] $($fields)*
        }
        $crate::wire_fields! { [wire_struct @decode $name [$apply]] [] $($fields)* }
    };
    (
        @declare [$($meta:tt)*] [$($derive:tt)*] [$vis:vis] $name:ident [$($lifetime:lifetime)?]
        [$(([$($attribute:tt)*] $field_vis:vis, $field:ident, $key:expr, $presence:ident, $type:ty))*]
    ) => {
        #[derive($($derive)*)]
        #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
        $($meta)*
        $vis struct $name $(<$lifetime>)? {
            $($($attribute)* $field_vis $field: $type,)*
        }

        impl $(<$lifetime>)? $name $(<$lifetime>)? {
            /// Writes the object with these field values, which may be borrowed.
            #[allow(clippy::too_many_arguments, reason = "one for each field")]
            #[inline]
            pub(crate) fn write_members(
                out: &mut Vec<u8>,
                $($field: &(impl $crate::wire::WriteJson + ?Sized),)*
            ) {
                let start = out.len();
                $($crate::wire_member!(out, $presence, $key, $field);)*
                $crate::wire::close_object(out, start);
            }
        }

        impl $(<$lifetime>)? $crate::wire::WriteJson for $name $(<$lifetime>)? {
            fn write_json(&self, out: &mut Vec<u8>) {
                Self::write_members(out, $(&self.$field,)*);
            }
        }
    };
    (
        @new [$($meta:tt)*] $vis:vis $name:ident [$(($argument:ident, $argument_type:ty))*]
        [$(([$($attribute:tt)*] $field_vis:vis, $field:ident, $key:expr, $presence:ident, $type:ty))*]
    ) => {
        impl $name {
            $($meta)*
            #[must_use]
            $vis fn new($($argument: $argument_type),*) -> Self {
                Self { $($field: $crate::wire_initial_value!($presence, $field),)* }
            }

            $($crate::wire_setter! { $presence, $field_vis, $field, $type })*
        }
    };
    (
        @keys $module:ident
        [$(([$($attribute:tt)*] $field_vis:vis, $field:ident, $key:expr, $presence:ident, $type:ty))*]
    ) => {
        /// The keys of the object.
        #[allow(non_upper_case_globals, reason = "they have the names of the fields")]
        pub(crate) mod $module {
            $(pub(crate) const $field: &str = $key;)*
        }
    };
    (
        @decode $name:ident [$apply:path]
        [$(([$($attribute:tt)*] $field_vis:vis, $field:ident, $key:expr, $presence:ident, $type:ty))*]
    ) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(::serde::Deserialize)]
                // Attributes of fields may refer to it.
                #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
                struct Decoded {
                    $($($attribute)* $field: $type,)*
                }
                let Decoded { $($field,)* } = ::serde::Deserialize::deserialize(deserializer)?;
                Ok($apply(Self { $($field,)* }))
            }
        }
    };
}

/// Declares an enum of objects whose `type` key names the variant.
///
/// The fields of a variant are declared as in [`wire_struct!`](crate::wire_struct). The variant after `else` keeps an
/// object whose type is not listed. `after decoding` names a function that is applied to every decoded value.
#[macro_export]
macro_rules! wire_tagged_union {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($variants:tt)* } else $(#[$open_meta:meta])* $open:ident
        after decoding $apply:path
    ) => {
        $crate::wire_tagged_union! {
            @variants [[$(#[$meta])*] [$vis] $name [$(#[$open_meta])*] $open $apply] [] $($variants)*
        }
    };
    (@variants $head:tt [$($done:tt)*]) => {
        $crate::wire_tagged_union! { @declare $head $($done)* }
    };
    (@variants $head:tt $done:tt $(#[$meta:meta])* $variant:ident = $value:literal { $($fields:tt)* }, $($rest:tt)*) => {
        $crate::wire_fields! {
            [wire_tagged_union @variant $head $done [[$(#[$meta])*] $variant $value] [$($rest)*]] [] $($fields)*
        }
    };
    (@variant $head:tt [$($done:tt)*] [$($variant:tt)*] [$($rest:tt)*] $fields:tt) => {
        $crate::wire_tagged_union! { @variants $head [$($done)* ($($variant)* $fields)] $($rest)* }
    };
    (
        @declare [[$($meta:tt)*] [$vis:vis] $name:ident [$($open_meta:tt)*] $open:ident $apply:path]
        $((
            [$($variant_meta:tt)*] $variant:ident $value:literal
            [$(([$($attribute:tt)*] $field_vis:vis, $field:ident, $key:expr, $presence:ident, $type:ty))*]
        ))*
    ) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
        #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
        #[serde(tag = "type")]
        $($meta)*
        $vis enum $name {
            $($($variant_meta)* #[serde(rename = $value)] $variant { $($($attribute)* $field: $type,)* },)*
            $($open_meta)*
            #[serde(untagged)]
            #[cfg_attr(feature = "json-schema", schemars(skip))]
            $open(::serde_json::Map<String, ::serde_json::Value>),
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(::serde::Deserialize)]
                // Attributes of fields may refer to it.
                #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
                #[serde(tag = "type")]
                enum Decoded {
                    $(#[serde(rename = $value)] $variant { $($($attribute)* $field: $type,)* },)*
                    #[serde(untagged)]
                    $open(::serde_json::Map<String, ::serde_json::Value>),
                }
                Ok($apply(match ::serde::Deserialize::deserialize(deserializer)? {
                    $(Decoded::$variant { $($field,)* } => Self::$variant { $($field,)* },)*
                    Decoded::$open(members) => Self::$open(members),
                }))
            }
        }

        impl $crate::wire::WriteJson for $name {
            fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field,)* } => {
                        let start = out.len();
                        out.extend_from_slice(concat!(",\"type\":\"", $value, "\"").as_bytes());
                        $($crate::wire_member!(out, $presence, $key, $field);)*
                        $crate::wire::close_object(out, start);
                    })*
                    Self::$open(members) => $crate::wire::WriteJson::write_json(members, out),
                }
            }
        }
    };
}

/// Declares an enum of objects without a type key. The variant is selected by a value of the enum `$tag` that is stored
/// elsewhere. Each variant has the name of a variant of `$tag`.
#[macro_export]
macro_rules! wire_untagged_union {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident by $tag:ident {
            $($(#[$variant_meta:meta])* $variant:ident($type:ty),)+
        } $(else $(#[$open_meta:meta])* $open:ident($open_type:ty))?
    ) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
        #[cfg_attr(feature = "json-schema", derive(::schemars::JsonSchema))]
        #[serde(untagged)]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* $variant($type),)+
            $($(#[$open_meta])* #[cfg_attr(feature = "json-schema", schemars(skip))] $open($open_type),)?
        }

        impl $name {
            /// Decodes the object that belongs to a tag; `None` for a tag without an object.
            fn decode_as(tag: &$tag, json: &::serde_json::Value) -> Option<Result<Self, ::serde_json::Error>> {
                match tag {
                    $($tag::$variant => Some($crate::wire::decode_object(json).map(Self::$variant)),)+
                    _ => None,
                }
            }
        }

        $crate::wire_untagged_union! { @tag $name $tag [$($variant)+] [$($open)?] }

        impl $crate::wire::WriteJson for $name {
            fn write_json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(object) => $crate::wire::WriteJson::write_json(object, out),)+
                    $(Self::$open(object) => $crate::wire::WriteJson::write_json(object, out),)?
                }
            }
        }
    };
    (@tag $name:ident $tag:ident [$($variant:ident)+] []) => {
        impl $name {
            /// The tag of the variant.
            const fn tag(&self) -> $tag {
                match self {
                    $(Self::$variant(_) => $tag::$variant,)+
                }
            }
        }
    };
    (@tag $name:ident $tag:ident [$($variant:ident)+] [$open:ident]) => {
        impl $name {
            /// The tag of the variant; `None` for the open variant.
            const fn tag(&self) -> Option<$tag> {
                match self {
                    $(Self::$variant(_) => Some($tag::$variant),)+
                    Self::$open(_) => None,
                }
            }
        }
    };
}

/// Normalises declared fields and passes them to a macro. Each becomes `([attributes] visibility, name, key, presence,
/// type)`, where the presence is `always` or `optional`.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_fields {
    ([$macro:ident $($before:tt)*] $done:tt) => {
        $crate::$macro! { $($before)* $done }
    };
    ($then:tt [$($done:tt)*] $(#[$meta:meta])* $vis:vis $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::wire_fields! {
            $then [$($done)* ([$(#[$meta])*] $vis, $field, stringify!($field), always, $type)] $($rest)*
        }
    };
    ($then:tt [$($done:tt)*] $(#[$meta:meta])* $vis:vis $field:ident as $key:literal: $type:ty, $($rest:tt)*) => {
        $crate::wire_fields! {
            $then
            [$($done)* ([$(#[$meta])* #[serde(rename = $key)]] $vis, $field, $key, always, $type)]
            $($rest)*
        }
    };
    ($then:tt $done:tt $(#[$meta:meta])* $vis:vis $field:ident?: $type:ty, $($rest:tt)*) => {
        $crate::wire_fields! {
            @optional $then $done
            ([$(#[$meta])*] $vis, $field, stringify!($field), optional, $type)
            $($rest)*
        }
    };
    ($then:tt $done:tt $(#[$meta:meta])* $vis:vis $field:ident as $key:literal?: $type:ty, $($rest:tt)*) => {
        $crate::wire_fields! {
            @optional $then $done
            ([$(#[$meta])* #[serde(rename = $key)]] $vis, $field, $key, optional, $type)
            $($rest)*
        }
    };
    (@optional $then:tt [$($done:tt)*] ([$($attribute:tt)*] $($field:tt)*) $($rest:tt)*) => {
        $crate::wire_fields! {
            $then
            [$($done)* (
                [
                    $($attribute)*
                    #[serde(default, skip_serializing_if = "interlingua_schema::wire::is_omitted")]
                ]
                $($field)*
            )]
            $($rest)*
        }
    };
}

/// The initial value of a field: an argument of the constructor, or the default.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_initial_value {
    (always, $field:ident) => {
        $field.into()
    };
    (optional, $field:ident) => {
        ::std::default::Default::default()
    };
}

/// Declares the setter of a field that the constructor does not take.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_setter {
    (always, $vis:vis, $field:ident, $type:ty) => {};
    (optional, $vis:vis, $field:ident, $type:ty) => {
        $crate::setters! { $vis $field: $type }
    };
}

/// Declares setters with the names of their fields.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($vis:vis $field:ident: $type:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
            #[must_use]
            $vis fn $field(mut self, $field: impl Into<$type>) -> Self {
                self.$field = $field.into();
                self
            }
        )*
    };
}

/// Appends a member, with a comma before it.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_member {
    ($out:ident, always, $key:expr, $value:expr) => {
        $crate::wire::WriteJson::write_member($value, concat!(",\"", $key, "\":"), $out);
    };
    ($out:ident, optional, $key:expr, $value:expr) => {
        if !$crate::wire::WriteJson::is_omitted($value) {
            $crate::wire_member!($out, always, $key, $value);
        }
    };
}
