//! The reader of TSKV.

#![no_main]

chalet_fuzz::reader!("TSKV");
