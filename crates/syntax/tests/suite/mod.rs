//! One file per property.

mod depth;
mod errors;
mod explain;
mod mutation;
mod names;
mod pieces;
mod round_trip;
