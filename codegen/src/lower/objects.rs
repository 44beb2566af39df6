//! Objects: structs, maps, and the unions that are made of several.

use super::{Hint, Lowering, unique_name};
use crate::error::Result;
use crate::model::{Adjacent, AdjacentVariant, Field, Kind, Struct, Type};
use crate::shape::{Alternative, Object, Shape, alternatives};
use crate::{name, union};

/// The pair of keys that make a union adjacently tagged.
pub(super) const TAG_AND_CONTENT: (&str, &str) = ("method", "params");

impl<'a> Lowering<'a> {
    pub(super) fn objects(&mut self, members: Vec<Alternative<'a>>, hint: &Hint, reserved: bool) -> Result<Type> {
        if let [Alternative { shape: Shape::Map(of), .. }] = members.as_slice() {
            let Some(of) = of.clone() else { return Ok(Type::Any) };
            let (of, nullable) = self.value(&[of], &hint.then("Value"))?;
            return Ok(Type::Map(Box::new(if nullable { Type::Nullable(Box::new(of)) } else { of })));
        }
        let mut objects = Vec::new();
        for mut member in members {
            match std::mem::replace(&mut member.shape, Shape::Null) {
                Shape::Object(object) => objects.push((member, object)),
                // A map among structs can hold anything.
                _ => return Ok(Type::Any),
            }
        }
        let name = if reserved { hint.name.clone() } else { self.free_name(&hint.name) };
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

    /// Several objects: tagged if a key tells them apart, else one struct that can be any of them.
    fn union(
        &mut self,
        mut members: Vec<(Alternative<'a>, Object<'a>)>,
        name: &str,
        only: Option<&[String]>,
    ) -> Result<Kind> {
        let (tag, content) = TAG_AND_CONTENT;
        let mut is_adjacent = true;
        for (_, object) in &members {
            is_adjacent &= object.required.contains(tag) && self.constant(object, tag)?.is_some();
        }
        if is_adjacent {
            if let Some(only) = only {
                let mut kept = Vec::new();
                for member in members {
                    let wire = self.constant(&member.1, tag)?;
                    if wire.is_some_and(|values| values.iter().any(|value| only.iter().any(|keep| keep == value))) {
                        kept.push(member);
                    }
                }
                members = kept;
            }
            return self.adjacent(&members, name, tag, content).map(Kind::Adjacent);
        }
        if let Some(tagged) = union::tagged(self, &members, name)? {
            return Ok(Kind::Tagged(tagged));
        }
        let merged = members.into_iter().map(|(_, object)| object).reduce(Object::or).unwrap_or_default();
        Ok(Kind::Struct(self.structure(&merged, name)?))
    }

    fn adjacent(
        &mut self,
        members: &[(Alternative<'a>, Object<'a>)],
        name: &str,
        tag: &str,
        content: &str,
    ) -> Result<Adjacent> {
        let mut siblings = Object::default();
        let mut variants: Vec<AdjacentVariant> = Vec::new();
        for (index, (_, object)) in members.iter().enumerate() {
            let mut beside = object.clone();
            beside.properties.retain(|key, _| *key != tag && *key != content);
            beside.required.retain(|key| *key != tag && *key != content);
            siblings = if index == 0 { beside } else { siblings.or(beside) };
            for wire in self.constant(object, tag)?.unwrap_or_default() {
                let taken = |name: &str| name == "Unknown" || variants.iter().any(|variant| variant.name == name);
                let variant = unique_name(&name::pascal(wire), taken);
                let payload = match object.properties.get(content) {
                    Some(nodes) => Some(self.value(nodes, &Hint::of(format!("{variant}{name}")))?.0),
                    None => None,
                };
                variants.push(AdjacentVariant { name: variant, wire: wire.to_owned(), payload, boxed: false });
            }
        }
        let siblings = self.structure(&siblings, name)?.fields;
        Ok(Adjacent { tag: tag.to_owned(), content: content.to_owned(), siblings, variants })
    }

    /// The values of a key that is constant in an object.
    pub(crate) fn constant(&self, object: &Object<'a>, key: &str) -> Result<Option<Vec<&'a str>>> {
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

    pub(crate) fn structure(&mut self, object: &Object<'a>, name: &str) -> Result<Struct> {
        let mut fields = Vec::new();
        for (key, nodes) in &object.properties {
            let (ty, nullable) = self.value(nodes, &Hint::of(format!("{name}{}", name::pascal(key))))?;
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
