//! One file per property.

mod depth;
mod round_trip;
