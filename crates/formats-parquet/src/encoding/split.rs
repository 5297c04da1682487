//! BYTE_STREAM_SPLIT: all first bytes, then all second bytes, and so on.

use super::cut_short;
use chalet_base::Result;

/// The values in their ordinary order of bytes.
pub fn decode(bytes: &[u8], width: usize, n: usize) -> Result<Vec<u8>> {
    let total =
        n.checked_mul(width).filter(|&total| total <= bytes.len()).ok_or_else(|| cut_short("split bytes"))?;
    let mut out = vec![0u8; total];
    for (place, stream) in bytes[..total].chunks_exact(n.max(1)).enumerate() {
        for (value, &byte) in stream.iter().enumerate() {
            out[value * width + place] = byte;
        }
    }
    Ok(out)
}
