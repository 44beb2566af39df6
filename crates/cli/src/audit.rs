//! `interlingua audit`: compares the native types with the payloads that an agent really sends.

mod command;
mod fields;
mod line;
mod report;
mod table;

pub use self::command::{Args, run};
pub use self::fields::{FieldDifferences, UnknownField, compare_fields};
pub use self::line::{DecodeStatus, LineAudit, LineAuditor, generic_path};
pub use self::report::{FileReport, PartReport, TypeReport, audit};
