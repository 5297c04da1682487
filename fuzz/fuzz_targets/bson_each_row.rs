//! The reader of BSONEachRow.

#![no_main]

chalet_fuzz::reader!("BSONEachRow");
