//! The reader of LineAsString.

#![no_main]

chalet_fuzz::reader!("LineAsString");
