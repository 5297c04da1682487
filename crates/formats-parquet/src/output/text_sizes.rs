//! What strings take in each way to encode them, estimated of some that follow each other.

use super::encoding::{ChunkEncoding, Pack, Sizes};
use super::number_sizes::differences;
use super::shred::Entries;
use chalet_columns::{Data, Strings};

/// Bytes of strings that are looked at: as far as LZ4 looks back.
const MOST_BYTES: usize = 1 << 16;

/// Sizes of the `n` values of a block from one on, or of the first of them; none of other types.
pub(super) fn of_run(entries: &Entries<'_>, from: usize, n: usize, pack: Pack) -> Option<Sizes> {
    let Data::Str(strings) = &entries.vector.data else { return None };
    Some(sizes(strings, entries.row_numbers(from, n), pack))
}

fn sizes(strings: &Strings, rows: impl Iterator<Item = usize>, pack: Pack) -> Sizes {
    let (mut plain, mut joined, mut suffixes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lengths, mut prefix_lengths, mut suffix_lengths) = (Vec::new(), Vec::new(), Vec::new());
    let mut last: &[u8] = &[];
    for row in rows {
        let text = strings.get(row);
        plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
        plain.extend_from_slice(text);
        joined.extend_from_slice(text);
        lengths.push(text.len() as i64);
        let shared = last.iter().zip(text).take_while(|(a, b)| a == b).count();
        prefix_lengths.push(shared as i64);
        suffix_lengths.push((text.len() - shared) as i64);
        suffixes.extend_from_slice(&text[shared..]);
        last = text;
        if plain.len() >= MOST_BYTES {
            break;
        }
    }
    let packed = |parts: &[&[u8]]| pack(&parts.concat());
    let (lengths, prefix_lengths, suffix_lengths) =
        (differences(&lengths), differences(&prefix_lengths), differences(&suffix_lengths));
    Sizes(vec![
        (ChunkEncoding::Compressed, pack(&plain)),
        (ChunkEncoding::LengthsApart, lengths.len() + joined.len()),
        (ChunkEncoding::CompressedLengthsApart, packed(&[&lengths, &joined])),
        (ChunkEncoding::SharedPrefixes, packed(&[&prefix_lengths, &suffix_lengths, &suffixes])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(text: impl FnMut(usize) -> String) -> ChunkEncoding {
        let texts: Strings = (0..1 << 13).map(text).collect();
        sizes(&texts, 0..texts.len(), |bytes| chalet_base::lz4::pack(bytes).unwrap().len()).best()
    }

    #[test]
    fn what_is_small_and_quick_is_chosen() {
        let hash = |row: usize| (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d << 7;
        let mixed = |row| hash(hash(hash(row) as usize >> 7) as usize >> 5);
        assert_eq!(best(|row| format!("key{row:09}")), ChunkEncoding::SharedPrefixes, "in order");
        assert_eq!(
            best(|row| format!("{:016x}", mixed(row))),
            ChunkEncoding::LengthsApart,
            "hexadecimal hashes"
        );
        let way = best(|row| {
            format!("https://example.com/{}/item?page={}", mixed(row) % 9000, mixed(row + 99) % 70)
        });
        assert!(
            matches!(way, ChunkEncoding::Compressed | ChunkEncoding::CompressedLengthsApart),
            "addresses: {way:?}"
        );
    }
}
