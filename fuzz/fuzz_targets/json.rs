//! The reader of JSON.

#![no_main]

chalet_fuzz::reader!("JSON");
