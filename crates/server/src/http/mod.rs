//! HTTP/1.1 as the kernel speaks it: statements in the URL and in the body, results in any format.
//!
//! - [`url`]: parameters in percent encoding
//! - [`request`]: the head of a request, and what it says
//! - [`input`]: what arrives over a socket: heads and bodies
//! - [`multipart`]: tables that come along, as parts of a form
//! - [`status`]: the status that an error has
//! - [`outgoing`]: bytes on their way to a client
//! - [`response`]: what is answered, held back until it is known to begin well
//! - [`result`]: rows as bytes of a format, compressed, as a response
//! - [`query`]: a request that runs a statement
//! - [`pages`]: what is not a statement
//! - [`conversation`]: one request after the other

mod conversation;
mod input;
mod multipart;
mod outgoing;
mod pages;
mod query;
mod request;
mod response;
mod result;
mod status;
mod url;

pub use conversation::serve;
