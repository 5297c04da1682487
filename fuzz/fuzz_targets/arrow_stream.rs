//! The reader of ArrowStream.

#![no_main]

chalet_fuzz::reader!("ArrowStream");
