//! Lowering of objects: structs, maps and unions of objects.

use super::{Hint, Lowering, unique_name};
use crate::error::Result;
use crate::model::{Adjacent, AdjacentVariant, Field, Kind, Struct, Type};
use crate::shape::{Alternative, Object, Shape, alternatives};
use crate::{name, union};

/// The tag and content keys of adjacently tagged unions.
pub(super) const TAG_AND_CONTENT: (&str, &str) = ("method", "params");

impl<'a> Lowering<'a> {
    pub(super) fn lower_objects(
        &mut self,
        members: Vec<Alternative<'a>>,
        hint: &Hint,
        is_reserved: bool,
    ) -> Result<Type> {
        if let [Alternative { shape: Shape::Map(values), .. }] = members.as_slice() {
            let Some(values) = values.clone() else { return Ok(Type::Any) };
            let (value, nullable) = self.value(&[values], &hint.with_suffix("Value"))?;
            return Ok(Type::Map(Box::new(if nullable { Type::Nullable(Box::new(value)) } else { value })));
        }
        let mut objects = Vec::new();
        for mut member in members {
            match std::mem::replace(&mut member.shape, Shape::Null) {
                Shape::Object(object) => objects.push((member, object)),
                // A union of a map and structs accepts any object.
                _ => return Ok(Type::Any),
            }
        }
        let name = if is_reserved { hint.name.clone() } else { self.unique_type_name(&hint.name) };
        self.reserve(&name);
        let doc = objects.first().filter(|_| objects.len() == 1).and_then(|(member, _)| self.doc(member.doc));
        let kind = match objects.len() {
            1 => {
                let mut object = objects.remove(0).1;
                if let Some(only) = &hint.only {
                    object.properties.retain(|key, _| only.iter().any(|keep| keep == key));
                }
                Kind::Struct(self.structure(&object, &name)?)
            }
            _ => self.union(objects, &name, hint.only.as_deref())?,
        };
        Ok(self.define(&name, kind, doc))
    }

    /// The union of several objects: tagged if a key distinguishes them, else one struct with the fields of all of them.
    fn union(
        &mut self,
        mut members: Vec<(Alternative<'a>, Object<'a>)>,
        name: &str,
        only: Option<&[String]>,
    ) -> Result<Kind> {
        let (tag, content) = TAG_AND_CONTENT;
        let mut is_adjacent = true;
        for (_, object) in &members {
            is_adjacent &= object.required.contains(tag) && self.constant_values(object, tag)?.is_some();
        }
        if is_adjacent {
            if let Some(only) = only {
                let mut kept = Vec::new();
                for member in members {
                    let tags = self.constant_values(&member.1, tag)?;
                    if tags.is_some_and(|values| values.iter().any(|value| only.iter().any(|keep| keep == value))) {
                        kept.push(member);
                    }
                }
                members = kept;
            }
            return self.adjacent_union(&members, name, tag, content).map(Kind::Adjacent);
        }
        if let Some(tagged) = union::tagged_union(self, &members, name)? {
            return Ok(Kind::Tagged(tagged));
        }
        let merged = members.into_iter().map(|(_, object)| object).reduce(Object::or).unwrap_or_default();
        Ok(Kind::Struct(self.structure(&merged, name)?))
    }

    fn adjacent_union(
        &mut self,
        members: &[(Alternative<'a>, Object<'a>)],
        name: &str,
        tag: &str,
        content: &str,
    ) -> Result<Adjacent> {
        let mut siblings = Object::default();
        let mut variants: Vec<AdjacentVariant> = Vec::new();
        for (index, (_, object)) in members.iter().enumerate() {
            let mut others = object.clone();
            others.properties.retain(|key, _| *key != tag && *key != content);
            others.required.retain(|key| *key != tag && *key != content);
            siblings = if index == 0 { others } else { siblings.or(others) };
            for wire in self.constant_values(object, tag)?.unwrap_or_default() {
                let is_taken = |name: &str| name == "Unknown" || variants.iter().any(|variant| variant.name == name);
                let variant = unique_name(&name::to_pascal_case(wire), is_taken);
                let payload = match object.properties.get(content) {
                    Some(nodes) => Some(self.value(nodes, &Hint::new(format!("{variant}{name}")))?.0),
                    None => None,
                };
                variants.push(AdjacentVariant { name: variant, wire: wire.to_owned(), payload, boxed: false });
            }
        }
        let siblings = self.structure(&siblings, name)?.fields;
        Ok(Adjacent { tag: tag.to_owned(), content: content.to_owned(), siblings, variants })
    }

    /// The values of a key, if the schema restricts it to constants.
    pub(crate) fn constant_values(&self, object: &Object<'a>, key: &str) -> Result<Option<Vec<&'a str>>> {
        let Some(nodes) = object.properties.get(key) else { return Ok(None) };
        let mut values = Vec::new();
        for node in nodes {
            for alternative in alternatives(self.document, node)? {
                match alternative.shape {
                    Shape::Strings(more) => values.extend(more),
                    _ => return Ok(None),
                }
            }
        }
        Ok(Some(values).filter(|values| !values.is_empty()))
    }

    /// Lowers the properties of an object to a struct.
    pub(crate) fn structure(&mut self, object: &Object<'a>, name: &str) -> Result<Struct> {
        let mut fields = Vec::new();
        for (key, nodes) in &object.properties {
            let (ty, nullable) = self.value(nodes, &Hint::new(format!("{name}{}", name::to_pascal_case(key))))?;
            let doc = nodes.first().and_then(|node| self.doc(node.text("description")));
            fields.push(Field {
                key: (*key).to_owned(),
                ty,
                declared_required: object.required.contains(key),
                nullable,
                required: false,
                needed: false,
                expected: false,
                doc,
            });
        }
        Ok(Struct { tag: None, fields })
    }
}
