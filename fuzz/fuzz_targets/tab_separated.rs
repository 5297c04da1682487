//! The reader of TabSeparated.

#![no_main]

chalet_fuzz::reader!("TabSeparated");
