//! `interlingua audit`: do our types fit what an agent really sends?

mod fields;
mod judge;
mod report;

pub use self::fields::{UnknownField, missing_fields};
pub use self::judge::{Judge, Judgement, Verdict};
pub use self::report::{FileReport, TypeReport, audit};
