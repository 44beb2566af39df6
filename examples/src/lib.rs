//! Short programs that use Interlingua as a library: see `src/bin/`.

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
