//! The reader of RowBinaryWithNamesAndTypes.

#![no_main]

chalet_fuzz::reader!("RowBinaryWithNamesAndTypes");
