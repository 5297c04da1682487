//! The formats against what the kernel wrote (corpus/, made by record.py).

mod corpus;
mod damage;
mod readers;
mod reading;
mod writers;
