//! One file per property.

mod depth;
mod mutation;
mod names;
mod round_trip;
