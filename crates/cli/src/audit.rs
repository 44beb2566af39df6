//! `interlingua audit`: do our types fit what an agent really sends?

mod command;
mod fields;
mod judge;
mod report;
mod table;

pub use self::command::{Args, run};
pub use self::fields::{Differences, UnknownField, differences};
pub use self::judge::{Judge, Judgement, Verdict, generic_path};
pub use self::report::{FileReport, PartReport, TypeReport, audit};
