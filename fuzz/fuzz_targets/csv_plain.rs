//! The reader of CSV.

#![no_main]

chalet_fuzz::reader!("CSV");
