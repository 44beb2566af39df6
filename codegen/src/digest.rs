//! A summary of the generated types with one line per type and field. Its diff shows a reviewer what an update changes.

use crate::model::{Enum, Field, Kind, Model, Struct, Type};

/// The lines of the digest, sorted by type.
pub(crate) fn digest(model: &Model) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, definition) in &model.types {
        match &definition.kind {
            Kind::Struct(structure) => {
                let tag = structure.tag.as_ref().map(|(key, value)| format!(" ({key}: {value:?})")).unwrap_or_default();
                let is_sent = model.sent.contains(name);
                let new = if is_sent { format!(" new({})", constructor_parameters(structure)) } else { String::new() };
                lines.push(format!("struct {name}{tag}{new}"));
                for field in &structure.fields {
                    lines.push(field_line(name, field));
                }
            }
            Kind::Enum(Enum { literals, accepts_any }) => {
                let values = literals.iter().map(|literal| literal.wire.as_str());
                let values: Vec<&str> = values.chain(accepts_any.then_some("any string")).collect();
                lines.push(format!("enum {name}: {}", values.join(" | ")));
            }
            Kind::Tagged(union) => {
                lines.push(format!("union {name} by {}", union.tree.key));
                for variant in &union.variants {
                    let tags = variant.tags.join(" | ");
                    lines.push(format!("  {name}::{}({}) = {tags}", variant.name, variant.payload));
                }
            }
            Kind::Adjacent(union) => {
                lines.push(format!("union {name} by {} with {}", union.tag, union.content));
                for field in &union.siblings {
                    lines.push(field_line(&format!("{name}Envelope"), field));
                }
                for variant in &union.variants {
                    let payload = variant.payload.as_ref().map(|ty| format!("({})", ty.to_rust())).unwrap_or_default();
                    lines.push(format!("  {name}::{}{payload} = {}", variant.name, variant.wire));
                }
            }
            Kind::Kinds(variants) => {
                let kinds: Vec<String> = variants.iter().map(|variant| variant.ty.to_rust()).collect();
                lines.push(format!("union {name} by kind: {}", kinds.join(" | ")));
            }
        }
    }
    for (request, ty) in &model.responses {
        lines.push(format!("response {request}: {}", ty.to_rust()));
    }
    for rpc_method in model.rpc_methods.iter().filter(|rpc_method| !model.responses.contains_key(&rpc_method.method)) {
        lines.push(format!("reply {}: {}", rpc_method.method, rpc_method.response.to_rust()));
    }
    for request in &model.http {
        let rust = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "()".to_owned(), Type::to_rust);
        let (body, response) = (rust(&request.body), rust(&request.response));
        let query = request.query.as_deref().unwrap_or("()");
        lines.push(format!("http {}: {} {}", request.name, request.method, request.path));
        lines.push(format!("  {}: query {query}, body {body}, response {response}", request.name));
    }
    lines
}

/// The parameters of a struct's constructor. `?` marks parameters that may be null.
fn constructor_parameters(structure: &Struct) -> String {
    let required = structure.fields.iter().filter(|field| field.declared_required);
    let keys = required.map(|field| format!("{}{}", field.key, if field.nullable { "?" } else { "" }));
    keys.collect::<Vec<_>>().join(", ")
}

/// The line of a field. `?` marks a field that may be missing, `!` one that is optional in Rust but needed, `~` one that
/// is reported if it is missing.
fn field_line(owner: &str, field: &Field) -> String {
    let mark = match field {
        Field { required: true, .. } => "",
        Field { needed: true, .. } if field.is_always_present() => "!",
        Field { needed: true, .. } => "?!",
        Field { expected: true, .. } => "~",
        _ => "?",
    };
    format!("  {owner}.{}{mark}: {}", field.key, field.ty.to_rust())
}
