//! String enums that accept the values of a later release.

/// Declares an enum of known strings with an `Unknown` variant for all others.
///
/// An unknown value is a loss of its payload, unless `or any string` follows the declaration.
#[doc(hidden)]
#[macro_export]
macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $wire:literal,)* } $($any:tt)*) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* #[doc = concat!("`", $wire, "`")] $variant,)*
            /// A value that the schema does not list.
            Unknown(String),
        }

        impl $name {
            /// The value in JSON.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $wire,)*
                    Self::Unknown(other) => other,
                }
            }
        }

        impl From<&str> for $name {
            fn from(wire: &str) -> Self {
                match wire {
                    $($wire => Self::$variant,)*
                    other => Self::Unknown(other.to_owned()),
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
                struct Visitor;
                impl ::serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E>(self, wire: &str) -> Result<$name, E> {
                        Ok($name::from(wire))
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }

        impl $crate::generated::Field for $name {
            fn read(reader: &mut $crate::generated::Reader<'_>) -> $crate::generated::ReadResult<Self> {
                let wire = reader.read_string()?;
                let value = Self::from(&*wire);
                if stringify!($($any)*).is_empty()
                    && let Self::Unknown(_) = value
                {
                    $crate::generated::report_unknown_value(stringify!($name), &wire, reader);
                }
                Ok(value)
            }
        }
    };
}
