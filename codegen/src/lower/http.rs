//! HTTP requests, from the paths of an OpenAPI document.

use super::{Hint, Lowering};
use crate::document::{Node, escape};
use crate::error::{Error, Result};
use crate::model::{Field, HttpRequest, Kind, Struct, Type};

/// The content types that get a Rust type: a JSON value, and a stream of them.
const CONTENT_TYPES: [&str; 2] = ["application/json", "text/event-stream"];

impl<'a> Lowering<'a> {
    /// Lowers the query, body and response of an operation such as `POST /path/{parameter}`.
    pub(super) fn add_http_request(&mut self, name: &str, operation: &str) -> Result<()> {
        let missing = |pointer: &str| self.no_such_operation(pointer, operation);
        let (method, path) = operation.split_once(' ').ok_or_else(|| missing(""))?;
        let pointer = format!("/paths/{}", escape(path));
        let item = self.document.at(&pointer).ok_or_else(|| missing(&pointer))?;
        let node = item.get(&method.to_lowercase()).ok_or_else(|| missing(&pointer))?;
        let query =
            self.query_fields(&[item.list("parameters"), node.list("parameters")].concat(), &format!("{name}Query"))?;
        let query_is_required = query.iter().any(|field| field.declared_required);
        let query = (!query.is_empty()).then(|| {
            let name = self.unique_type_name(&format!("{name}Query"));
            self.define(&name, Kind::Struct(Struct { tag: None, fields: query }), None);
            name
        });
        let body = match node.get("requestBody").and_then(|body| content_schema(&body)) {
            Some(schema) => Some(self.lower_content(&schema, &format!("{name}Body"))?),
            None => None,
        };
        let responses = node.get("responses");
        let success = responses.and_then(|responses| ["200", "201"].iter().find_map(|status| responses.get(status)));
        let response = match success.and_then(|response| content_schema(&response)) {
            Some(schema) => Some(self.lower_content(&schema, &format!("{name}Response"))?),
            None => None,
        };
        let (method, path) = (method.to_owned(), path.to_owned());
        let name = format!("{name}Request");
        self.model.http.push(HttpRequest { name, method, path, query, body, query_is_required, response });
        Ok(())
    }

    /// The type of a body or response. It becomes a root, because callers encode or decode it.
    fn lower_content(&mut self, schema: &Node<'a>, name: &str) -> Result<Type> {
        let (ty, _) = self.value(std::slice::from_ref(schema), &Hint::new(name.to_owned()))?;
        let element = if let Type::List(element) | Type::Map(element) = &ty { element } else { &ty };
        if let Type::Named(name) = element
            && !self.model.roots.contains(name)
        {
            self.model.roots.push(name.clone());
        }
        Ok(ty)
    }

    /// The query parameters as fields of a struct.
    fn query_fields(&mut self, parameters: &[Node<'a>], name: &str) -> Result<Vec<Field>> {
        let mut fields = Vec::new();
        for parameter in parameters {
            let parameter = match parameter.text("$ref") {
                Some(reference) => self.document.resolve_ref(reference, parameter)?.1,
                None => parameter.clone(),
            };
            let (Some(key), Some("query")) = (parameter.text("name"), parameter.text("in")) else { continue };
            let hint = Hint::new(format!("{name}{}", crate::name::to_pascal_case(key)));
            let (ty, nullable) = match parameter.get("schema") {
                Some(schema) => self.value(&[schema], &hint)?,
                None => (Type::String, false),
            };
            let is_required = parameter.get("required").is_some_and(|required| required.value == true);
            fields.push(Field {
                key: key.to_owned(),
                ty,
                declared_required: is_required,
                nullable,
                required: false,
                needed: false,
                expected: false,
                doc: self.doc(parameter.text("description")),
            });
        }
        Ok(fields)
    }

    fn no_such_operation(&self, pointer: &str, operation: &str) -> Error {
        let problem = format!("there is no operation `{operation}`");
        self.document.error(pointer, problem, "correct `http` in source.toml and the code that uses it")
    }
}

/// The schema of a body or response.
fn content_schema<'a>(node: &Node<'a>) -> Option<Node<'a>> {
    let content = node.get("content")?;
    CONTENT_TYPES.iter().find_map(|content_type| content.get(content_type)?.get("schema"))
}
