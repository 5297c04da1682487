//! The reader of Arrow.

#![no_main]

chalet_fuzz::reader!("Arrow");
