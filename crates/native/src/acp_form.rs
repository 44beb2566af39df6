//! The questions that a form of an ACP agent asks.

use crate::acp::{ElicitationPropertySchema, ElicitationSchema};

/// Endings of the name of a field that takes the user's own words beside the choices of another field: `colour_custom` of
/// the adapter of Claude Code, `colour_note` of that of Codex.
const FREE_TEXT_SUFFIXES: [&str; 2] = ["_custom", "_note"];

/// A question of a form.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FormQuestion<'a> {
    /// Name of the field for the answer.
    pub name: &'a str,
    /// What the field takes.
    pub property: &'a ElicitationPropertySchema,
    /// Name of the field for the user's own words, if there is one.
    pub free_text_field: Option<&'a str>,
}

impl ElicitationSchema {
    /// The questions, in the order of the names of their fields.
    pub fn questions(&self) -> impl Iterator<Item = FormQuestion<'_>> {
        let fields = || self.properties.iter().flatten();
        let base = move |name: &str| {
            let bases = FREE_TEXT_SUFFIXES.iter().filter_map(|suffix| name.strip_suffix(suffix));
            bases.filter(|base| fields().any(|(known, _)| known == base)).map(str::to_owned).next()
        };
        let questions = fields().filter(move |(name, _)| base(name).is_none());
        questions.map(move |(name, property)| {
            let belongs = |(known, _): &(&String, _)| base(known).as_deref() == Some(name.as_str());
            let free_text_field = fields().find(belongs).map(|(known, _)| known.as_str());
            FormQuestion { name, property, free_text_field }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_for_own_words_belongs_to_the_question_before_it() {
        let schema = r#"{"type":"object","properties":{
            "colour":{"type":"string"},"colour_custom":{"type":"string"},"my_note":{"type":"string"}}}"#;
        let schema: ElicitationSchema = serde_json::from_str(schema).unwrap();
        let questions: Vec<_> = schema.questions().map(|question| (question.name, question.free_text_field)).collect();
        assert_eq!(questions, [("colour", Some("colour_custom")), ("my_note", None)]);
    }
}
