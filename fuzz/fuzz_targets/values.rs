//! The reader of Values.

#![no_main]

chalet_fuzz::reader!("Values");
