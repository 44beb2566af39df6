//! Registration of types under unique Rust names.

use super::{Hint, Lowering};
use crate::model::{Definition, Kind, Struct, Type};
use crate::name;

impl Lowering<'_> {
    /// Registers a type under the name of `hint`, or a unique name like it unless `is_reserved`.
    pub(super) fn define_with_hint(&mut self, hint: &Hint, is_reserved: bool, kind: Kind, doc: Option<String>) -> Type {
        let name = if is_reserved { hint.name.clone() } else { self.unique_type_name(&hint.name) };
        self.define(&name, kind, doc)
    }

    /// Registers a type.
    pub(crate) fn define(&mut self, name: &str, kind: Kind, doc: Option<String>) -> Type {
        self.model.types.insert(name.to_owned(), Definition { doc, kind });
        Type::Named(name.to_owned())
    }

    /// Reserves a name for a type whose parts are still being lowered.
    pub(crate) fn reserve(&mut self, name: &str) {
        let placeholder = Definition { doc: None, kind: Kind::Struct(Struct::default()) };
        self.model.types.entry(name.to_owned()).or_insert(placeholder);
    }

    /// `wanted`, or the first of `wanted2`, `wanted3` … that no type has and generated code does not import.
    pub(crate) fn unique_type_name(&self, wanted: &str) -> String {
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
        unique_name(&name::normalize(wanted), |name| IMPORTED.contains(&name) || self.model.types.contains_key(name))
    }
}

/// `wanted`, or the first of `wanted2`, `wanted3` … that is not taken.
pub(crate) fn unique_name(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while is_taken(&name) {
        name = format!("{wanted}{number}");
        number += 1;
    }
    name
}
