//! The reader of JSONEachRow.

#![no_main]

chalet_fuzz::reader!("JSONEachRow");
