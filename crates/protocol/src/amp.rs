//! Amp: one process per turn, the prompt on its standard input.
