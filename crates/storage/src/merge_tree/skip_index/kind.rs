//! Types of indexes, with their arguments.

use super::words;
use chalet_columns::Vector;
use chalet_types::DataType;

/// The type of an index.
#[derive(Clone, Debug, PartialEq)]
pub enum SkipIndexKind {
    /// The smallest and the largest value.
    MinMax,
    /// The distinct rows, of granules with no more than so many; 0: however many.
    Set { most: usize },
    /// Which values there are, or elements of arrays; the second is how often a value that is not there seems to be.
    Bloom { false_positives: f64 },
    /// Which tokens there are in strings.
    Tokens { bytes: usize, hashes: usize },
    /// Which strings of `n` bytes there are in strings.
    Ngrams { n: usize, bytes: usize, hashes: usize },
}

impl SkipIndexKind {
    /// Can an index over values of these types be kept?
    pub fn takes(&self, types: &[DataType]) -> bool {
        use DataType::*;
        let is_plain = |ty: &DataType| {
            !matches!(
                ty.bare(),
                Array(_)
                    | Map(..)
                    | Tuple(_)
                    | Variant(_)
                    | Dynamic(_)
                    | Json(_)
                    | AggregateFunction(_)
                    | QBit(_)
                    | BFloat16
                    | Nothing
            )
        };
        match self {
            SkipIndexKind::MinMax => types.iter().all(is_plain),
            SkipIndexKind::Set { .. } => types.iter().all(|ty| {
                !ty.contains_several_types()
                    && !ty.is_or_contains(&|ty| matches!(ty, AggregateFunction(_) | Nothing))
            }),
            SkipIndexKind::Bloom { .. } => types.iter().all(|ty| match ty.bare() {
                Array(element) => is_plain(element),
                _ => is_plain(ty),
            }),
            SkipIndexKind::Tokens { .. } | SkipIndexKind::Ngrams { .. } => types.iter().all(|ty| {
                let inner = match ty.bare() {
                    Array(element) => element.bare(),
                    other => other,
                };
                matches!(inner, String | FixedString(_))
            }),
        }
    }

    /// Calls `f` with what a filter of this kind holds of a string: tokens or n-grams.
    pub fn words<'a>(&self, text: &'a [u8], f: &mut dyn FnMut(&'a [u8])) {
        match self {
            SkipIndexKind::Tokens { .. } => words::tokens(text).for_each(f),
            SkipIndexKind::Ngrams { n, .. } => text.windows((*n).max(1)).for_each(f),
            _ => {}
        }
    }
}

/// The values of a column of arrays, or the column itself.
pub(super) fn elements(vector: &Vector) -> &Vector {
    match &vector.data {
        chalet_columns::Data::List(list) => &list.values,
        _ => vector,
    }
}
