//! The reader of Native.

#![no_main]

chalet_fuzz::reader!("Native");
