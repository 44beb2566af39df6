//! Types under their Rust names, no two of which are the same.

use super::{Hint, Lowering};
use crate::model::{Definition, Kind, Struct, Type};
use crate::name;

impl Lowering<'_> {
    pub(super) fn define_under(&mut self, hint: &Hint, reserved: bool, kind: Kind, doc: Option<String>) -> Type {
        let name = if reserved { hint.name.clone() } else { self.free_name(&hint.name) };
        self.define(&name, kind, doc)
    }

    pub(crate) fn define(&mut self, name: &str, kind: Kind, doc: Option<String>) -> Type {
        self.model.types.insert(name.to_owned(), Definition { doc, kind });
        Type::Named(name.to_owned())
    }

    /// Keeps a name for a type whose parts are still being looked at.
    pub(crate) fn reserve(&mut self, name: &str) {
        let placeholder = Definition { doc: None, kind: Kind::Struct(Struct::default()) };
        self.model.types.entry(name.to_owned()).or_insert(placeholder);
    }

    /// `wanted`, or the first of `wanted2`, `wanted3` … that is not taken by a type or by what generated code imports.
    pub(crate) fn free_name(&self, wanted: &str) -> String {
        const IMPORTED: [&str; 15] = [
            "BTreeMap",
            "Box",
            "Default",
            "Deserialize",
            "Err",
            "From",
            "Json",
            "None",
            "Number",
            "Ok",
            "Option",
            "Result",
            "Serialize",
            "String",
            "Vec",
        ];
        unique_name(&name::settled(wanted), |name| IMPORTED.contains(&name) || self.model.types.contains_key(name))
    }
}

/// `wanted`, or the first of `wanted2`, `wanted3` … that is not taken.
pub(crate) fn unique_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while taken(&name) {
        name = format!("{wanted}{number}");
        number += 1;
    }
    name
}
