//! The reader of Parquet.

#![no_main]

chalet_fuzz::reader!("Parquet");
