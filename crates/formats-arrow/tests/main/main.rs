//! Arrow there and back, for every type; data that lies about itself is refused.

mod convert;
mod formats;
