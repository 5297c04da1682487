//! The reader of CSVWithNames.

#![no_main]

chalet_fuzz::reader!("CSVWithNames");
