//! The reader of RowBinaryWithNamesAndTypesAndDefaults.

#![no_main]

chalet_fuzz::reader!("RowBinaryWithNamesAndTypesAndDefaults");
