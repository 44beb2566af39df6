//! The operations of an HTTP API, from the paths of an OpenAPI document.

use super::{Hint, Lowering};
use crate::document::Node;
use crate::error::{Error, Result};
use crate::model::{Field, HttpRequest, Kind, Struct, Type};

/// The kinds of content that are typed: a value, and a stream of them.
const CONTENT_TYPES: [&str; 2] = ["application/json", "text/event-stream"];

impl<'a> Lowering<'a> {
    /// Lowers the query, body and answer of an operation such as `POST /path/{parameter}`.
    pub(super) fn http_request(&mut self, name: &str, operation: &str) -> Result<()> {
        let missing = |pointer: &str| self.not_there(pointer, operation);
        let (method, path) = operation.split_once(' ').ok_or_else(|| missing(""))?;
        let pointer = format!("/paths/{}", path.replace('~', "~0").replace('/', "~1"));
        let item = self.document.at(&pointer).ok_or_else(|| missing(&pointer))?;
        let node = item.get(&method.to_lowercase()).ok_or_else(|| missing(&pointer))?;
        let query =
            self.query(&[item.list("parameters"), node.list("parameters")].concat(), &format!("{name}Query"))?;
        let query_is_required = query.iter().any(|field| field.declared_required);
        let query = (!query.is_empty()).then(|| {
            let name = self.free_name(&format!("{name}Query"));
            self.define(&name, Kind::Struct(Struct { tag: None, fields: query }), None);
            name
        });
        let body = match node.get("requestBody").and_then(|body| content(&body)) {
            Some(schema) => Some(self.http_type(&schema, &format!("{name}Body"))?),
            None => None,
        };
        let answers = node.get("responses");
        let answer = answers.and_then(|answers| ["200", "201"].iter().find_map(|status| answers.get(status)));
        let response = match answer.and_then(|answer| content(&answer)) {
            Some(schema) => Some(self.http_type(&schema, &format!("{name}Response"))?),
            None => None,
        };
        let (method, path) = (method.to_owned(), path.to_owned());
        let name = format!("{name}Request");
        self.model.http.push(HttpRequest { name, method, path, query, body, query_is_required, response });
        Ok(())
    }

    /// The type of a body or an answer, which callers encode or decode.
    fn http_type(&mut self, schema: &Node<'a>, name: &str) -> Result<Type> {
        let (ty, _) = self.value(std::slice::from_ref(schema), &Hint::of(name.to_owned()))?;
        let element = if let Type::List(element) | Type::Map(element) = &ty { element } else { &ty };
        if let Type::Named(name) = element
            && !self.model.roots.contains(name)
        {
            self.model.roots.push(name.clone());
        }
        Ok(ty)
    }

    /// The parameters that stand in the query, as the fields of a struct.
    fn query(&mut self, parameters: &[Node<'a>], name: &str) -> Result<Vec<Field>> {
        let mut fields = Vec::new();
        for parameter in parameters {
            let parameter = match parameter.text("$ref") {
                Some(reference) => self.document.follow(reference, parameter)?.1,
                None => parameter.clone(),
            };
            let (Some(key), Some("query")) = (parameter.text("name"), parameter.text("in")) else { continue };
            let hint = Hint::of(format!("{name}{}", crate::name::pascal(key)));
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

    fn not_there(&self, pointer: &str, operation: &str) -> Error {
        let problem = format!("there is no operation `{operation}`");
        self.document.error(pointer, problem, "correct `http` in source.toml, and what calls it")
    }
}

/// The schema of a body or an answer.
fn content<'a>(node: &Node<'a>) -> Option<Node<'a>> {
    let content = node.get("content")?;
    CONTENT_TYPES.iter().find_map(|kind| content.get(kind)?.get("schema"))
}
