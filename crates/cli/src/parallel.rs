//! Work on several files, on all cores, with the output in the order of the files.
//!
//! Each file has a queue of output. The output of the first unfinished file is written as it comes. The others may run ahead
//! until their queues are full, so memory is bounded by the number of cores, whatever the files contain.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::is_broken_pipe;
use crate::output::Output;

/// Maximum number of pieces of output in the queue of a file.
const QUEUE_CAPACITY: usize = 16;
/// Maximum size of a piece of output in bytes.
const MAX_PIECE_BYTES: usize = 1 << 16;
/// Maximum number of files per thread that have begun and whose output is not written yet.
const FILES_PER_THREAD: usize = 2;

/// The errors of several files. All but the last are printed; the last one is the error of the command.
#[derive(Default)]
pub(crate) struct ErrorList(Option<anyhow::Error>);

impl ErrorList {
    /// Adds an error, and prints the one before.
    ///
    /// # Errors
    /// If the error is a closed output, which ends the command.
    pub(crate) fn push(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        if is_broken_pipe(&error) {
            return Err(error);
        }
        if let Some(before) = self.0.replace(error) {
            eprintln!("error: {before:#}");
        }
        Ok(())
    }

    /// Returns the last error.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Something that a file has, in the order in which it is passed on.
enum Message<T> {
    Output(Vec<u8>),
    Result(T),
}

/// A file to work on, and where its messages go.
type Job<'a, F, T> = (&'a F, SyncSender<Message<T>>);

/// Does `work` with each file (or session), and calls `finish` with each result. Output and results are in the order of
/// the files. One file is worked on in this thread, and its output is not queued.
///
/// # Errors
/// If the output cannot be written, or `finish` fails.
pub(crate) fn for_each_file<'a, F: Sync, T: Send + 'static>(
    files: &'a [F],
    work: impl Fn(&'a F, Output) -> T + Sync,
    mut finish: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if let [file] = files {
        return finish(work(file, Output::new()));
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    let (job_sender, jobs) = channel();
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| run_jobs(&jobs, &work));
        }
        // Dropped when this closure returns, which ends the threads.
        let job_sender: Sender<Job<'a, F, T>> = job_sender;
        let mut waiting = files.iter();
        let mut begun = VecDeque::new();
        loop {
            while begun.len() < threads * FILES_PER_THREAD
                && let Some(file) = waiting.next()
            {
                let (sender, messages) = sync_channel(QUEUE_CAPACITY);
                // The threads receive jobs until the sender is dropped.
                let _ = job_sender.send((file, sender));
                begun.push_back(messages);
            }
            let Some(messages) = begun.pop_front() else { return Ok(()) };
            write_messages(&messages, &mut finish)?;
        }
    })
}

/// Works on files until there are no more.
fn run_jobs<'a, F, T: 'static>(jobs: &Mutex<Receiver<Job<'a, F, T>>>, work: impl Fn(&'a F, Output) -> T) {
    let next_job = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok((file, sender)) = next_job() {
        let result = work(file, Output::to(QueueWriter(sender.clone())));
        // The receiver is gone if the output could not be written; the program then ends.
        let _ = sender.send(Message::Result(result));
    }
}

/// Writes the output of one file until its result comes.
fn write_messages<T>(
    messages: &Receiver<Message<T>>,
    finish: &mut impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    for message in messages {
        match message {
            Message::Output(bytes) => stdout.write_all(&bytes)?,
            Message::Result(result) => {
                stdout.flush()?;
                finish(result)?;
            }
        }
    }
    Ok(())
}

/// Writes to the queue of a file, and waits while it is full.
struct QueueWriter<T>(SyncSender<Message<T>>);

impl<T> Write for QueueWriter<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(MAX_PIECE_BYTES)];
        match self.0.send(Message::Output(piece.to_vec())) {
            Ok(()) => Ok(piece.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends messages as `for_each_file` does, and returns the results.
    fn results(files: &[String], work: impl Fn(&str) -> usize + Sync) -> Vec<usize> {
        let mut results = Vec::new();
        let finish = |result| {
            results.push(result);
            Ok(())
        };
        for_each_file(files, |file, _| work(file), finish).unwrap();
        results
    }

    #[test]
    fn results_are_in_the_order_of_the_files() {
        let files: Vec<String> = (0..100).map(|index| index.to_string()).collect();
        let expected: Vec<usize> = (0..100).collect();
        assert_eq!(results(&files, |file| file.parse().unwrap()), expected);
        assert_eq!(results(&files[7..8], |file| file.parse().unwrap()), [7]);
    }

    #[test]
    fn a_file_with_more_output_than_a_queue_takes_waits_for_its_turn() {
        let (sender, messages) = sync_channel::<Message<()>>(QUEUE_CAPACITY);
        let bytes = vec![b'x'; MAX_PIECE_BYTES * QUEUE_CAPACITY * 2 + 1];
        let length = bytes.len();
        let writer = thread::spawn(move || QueueWriter(sender).write_all(&bytes));
        let pieces = messages.iter().map(|message| match message {
            Message::Output(piece) => piece.len(),
            Message::Result(()) => 0,
        });
        let pieces: Vec<usize> = pieces.collect();
        assert_eq!(pieces.iter().sum::<usize>(), length);
        assert!(pieces.iter().all(|piece| *piece <= MAX_PIECE_BYTES), "{pieces:?}");
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn writing_fails_when_the_receiver_is_gone() {
        let (sender, messages) = sync_channel::<Message<()>>(QUEUE_CAPACITY);
        drop(messages);
        assert_eq!(QueueWriter(sender).write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
