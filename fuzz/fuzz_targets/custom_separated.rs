//! The reader of CustomSeparated.

#![no_main]

chalet_fuzz::reader!("CustomSeparated");
