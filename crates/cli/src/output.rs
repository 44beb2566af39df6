//! Standard output, buffered, and flushed whenever its input has nothing more to give for the moment.

use std::cell::RefCell;
use std::io::{self, BufWriter, Read, Stdout, Write};
use std::rc::Rc;

/// Standard output. Clones write to the same buffer.
#[derive(Clone)]
pub(crate) struct Output(Rc<RefCell<BufWriter<Stdout>>>);

impl Output {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(BufWriter::with_capacity(1 << 16, io::stdout()))))
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

/// An input before which the output is flushed: what a live agent said so far is seen while it thinks, and a file
/// still goes through in large pieces.
pub(crate) struct Flushing<R> {
    pub(crate) input: R,
    pub(crate) output: Output,
}

impl<R: Read> Read for Flushing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.flush()?;
        self.input.read(buffer)
    }
}
