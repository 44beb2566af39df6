//! Tests of the generator, and of the code that it generates.

mod compiled;
mod errors;
mod generate;
