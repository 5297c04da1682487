//! The Parquet reader and writer over files of several writers, and over files that are broken.

mod chosen;
mod damage;
mod filter;
mod prune;
mod registry;
mod samples;
mod write;
