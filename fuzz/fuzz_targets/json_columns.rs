//! The reader of JSONColumns.

#![no_main]

chalet_fuzz::reader!("JSONColumns");
