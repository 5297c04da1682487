//! The reader of JSONAsString.

#![no_main]

chalet_fuzz::reader!("JSONAsString");
