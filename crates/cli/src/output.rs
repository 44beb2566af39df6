//! Buffered output that is flushed before the program waits for input.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufWriter, Read, Write};
use std::rc::Rc;

/// Prints a line to standard error. A server goes on if that is closed or its disk is full; `eprintln!` would panic.
pub(crate) fn print_notice(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The output of a command. Clones write to the same buffer.
#[derive(Clone)]
pub(crate) struct Output(Rc<RefCell<BufWriter<Box<dyn Write>>>>);

impl Output {
    /// Standard output.
    pub(crate) fn new() -> Self {
        Self::to(io::stdout())
    }

    /// Output to `writer`.
    pub(crate) fn to(writer: impl Write + 'static) -> Self {
        let writer: Box<dyn Write> = Box::new(writer);
        Self(Rc::new(RefCell::new(BufWriter::with_capacity(1 << 16, writer))))
    }

    /// Whether something was written that is not visible yet.
    pub(crate) fn has_unflushed(&self) -> bool {
        !self.0.borrow().buffer().is_empty()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

/// A reader that flushes the output before every read. The output of a live agent is visible while the agent works, and
/// a file is still written in large pieces.
pub(crate) struct FlushingReader<R> {
    pub(crate) input: R,
    pub(crate) output: Output,
}

impl<R: Read> Read for FlushingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.flush()?;
        self.input.read(buffer)
    }
}
