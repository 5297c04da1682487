//! The reader of Npy.

#![no_main]

chalet_fuzz::reader!("Npy");
