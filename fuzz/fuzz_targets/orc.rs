//! The reader of ORC.

#![no_main]

chalet_fuzz::reader!("ORC");
