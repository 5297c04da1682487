//! The formats against what the kernel wrote (corpus/, made by record.py).

mod corpus;
mod damage;
mod native_columns;
mod readers;
mod reading;
mod writers;
