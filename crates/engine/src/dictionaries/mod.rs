//! Dictionaries: rows of a source under keys, which functions look up.
//!
//! - [`layout`]: the layouts, and what keys they have
//! - [`definition`]: what a dictionary is made of
//! - [`index`]: keys to rows
//! - [`polygons`]: points to rows
//! - [`patterns`]: texts to the values of regular expressions
//! - [`loaded`]: the rows of a source, ready to be looked up
//! - [`key_cache`]: rows of single keys
//! - [`finder`]: how a statement finds rows, in what is loaded or by asking the source for keys
//! - [`hierarchy`]: keys that have parents
//! - [`table`]: a dictionary as a table, loaded when it is first used and again after its lifetime
//! - [`declared`]: definitions from statements
//! - [`source`]: reading a source
//! - [`attached`]: a dictionary as a statement sees it, with the means to load it

pub(crate) mod attached;
pub(crate) mod declared;
pub(crate) mod definition;
pub(crate) mod finder;
pub(crate) mod hierarchy;
pub(crate) mod index;
pub(crate) mod key_cache;
pub(crate) mod layout;
pub(crate) mod loaded;
pub(crate) mod patterns;
pub(crate) mod polygons;
pub(crate) mod source;
pub(crate) mod table;
