//! Work that would keep other tasks from running.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Size from which work on a text is done outside of the threads that run other tasks.
pub const LARGE_TEXT_BYTES: usize = 256 * 1024;

/// Runs work on a text of this size, such as encoding or decoding its JSON. If the text is large, the other tasks of this
/// thread move to another thread first.
pub fn run_cpu_bound<T>(text_bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_other_threads =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if text_bytes >= LARGE_TEXT_BYTES && has_other_threads { tokio::task::block_in_place(work) } else { work() }
}
