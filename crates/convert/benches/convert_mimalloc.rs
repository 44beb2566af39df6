//! Conversion of native JSON lines to universal JSON lines, with the allocator of the `interlingua` program.

mod conversion;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    conversion::run("convert-mimalloc")
}
