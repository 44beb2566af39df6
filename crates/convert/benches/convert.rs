//! Conversion of native JSON lines to universal JSON lines, with the system's allocator.

mod conversion;

use std::process::ExitCode;

fn main() -> ExitCode {
    conversion::run("convert")
}
