//! One file per property.

mod depth;
mod errors;
mod mutation;
mod names;
mod pieces;
mod round_trip;
