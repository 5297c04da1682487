//! The reader of JSONCompact.

#![no_main]

chalet_fuzz::reader!("JSONCompact");
