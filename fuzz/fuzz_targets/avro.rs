//! The reader of Avro.

#![no_main]

chalet_fuzz::reader!("Avro");
