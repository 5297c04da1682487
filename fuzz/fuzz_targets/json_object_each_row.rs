//! The reader of JSONObjectEachRow.

#![no_main]

chalet_fuzz::reader!("JSONObjectEachRow");
