//! The tests of this crate, in one binary: the kernel's answers, every way to compute them, and the examples' form.

mod golden;
mod records;
mod sketches;
