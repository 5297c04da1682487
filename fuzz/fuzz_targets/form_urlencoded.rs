//! The reader of Form.

#![no_main]

chalet_fuzz::reader!("Form");
