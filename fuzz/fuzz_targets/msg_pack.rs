//! The reader of MsgPack.

#![no_main]

chalet_fuzz::reader!("MsgPack");
