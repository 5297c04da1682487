//! The reader of JSONCompactEachRowWithNamesAndTypes.

#![no_main]

chalet_fuzz::reader!("JSONCompactEachRowWithNamesAndTypes");
