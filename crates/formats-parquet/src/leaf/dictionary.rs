//! The dictionary of a column chunk. It is decoded when the first code is met, and where few rows are wanted only as far as their
//! codes go: values have their numbers in the order in which rows had them first, and the frequent ones come early.

use super::kind::Kind;
use crate::dictionaries;
use crate::page::{Pages, StoredPage};
use crate::thrift::encoding;
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_base::{Result, ensure};
use std::sync::Arc;

/// Rows are few where the dictionary has more than this many times as many values.
const FEW: usize = 16;

pub struct ChunkDictionary<K: Kind> {
    /// As it lies in the file; none where no page of it was met.
    stored: Option<StoredPage>,
    /// All values, or the first of them.
    decoded: Option<Arc<K::Dictionary>>,
    /// Under which it is kept for others who read the column chunk; none where nothing may be kept.
    key: Option<dictionaries::Key>,
    /// Is what is decoded kept already?
    is_kept: bool,
    /// Values that were read by codes so far.
    n_used: usize,
}

impl<K: Kind> ChunkDictionary<K> {
    /// `key` is the column chunk, where its dictionary may be kept.
    pub fn new(key: Option<dictionaries::Key>) -> Self {
        ChunkDictionary { stored: None, decoded: None, key, is_kept: false, n_used: 0 }
    }

    /// Takes the page, of which a column chunk has one at most.
    pub fn found(&mut self, page: StoredPage) -> Result<()> {
        ensure!(self.stored.is_none(), INCORRECT_DATA, "Parquet column chunk has more than one dictionary");
        self.stored = Some(page);
        Ok(())
    }

    /// What is decoded of it.
    pub fn decoded(&self) -> Option<&K::Dictionary> {
        self.decoded.as_deref()
    }

    pub fn count_used(&mut self, n: usize) {
        self.n_used += n;
    }

    /// Are so many rows few enough to be read by [`ChunkDictionary::covering`]?
    pub fn is_for_few(&self, kind: &K, n_rows: usize) -> bool {
        let n_values = self.n_stored();
        K::IN_PARTS
            && n_rows < n_values / FEW
            && self.n_decoded(kind) < n_values
            && switches::is_on(Switch::PartsOfDictionaries)
    }

    /// Decodes all of it, if there is one.
    pub fn decode(&mut self, kind: &K, pages: &mut Pages) -> Result<()> {
        let n = self.n_stored();
        if self.decoded.is_some() && self.n_decoded(kind) >= n || self.find(kind, n) {
            return Ok(());
        }
        let Some(stored) = &self.stored else { return Ok(()) };
        check_encoding(stored)?;
        let (_, bytes) = pages.load(stored)?;
        self.decoded = Some(Arc::new(kind.dictionary(bytes, n)?));
        self.is_kept = false;
        Ok(())
    }

    /// The values of `codes`, and maybe of others.
    pub fn covering(&mut self, kind: &K, pages: &mut Pages, codes: &[u32]) -> Result<Option<&K::Dictionary>> {
        let wanted = codes.iter().max().map_or(0, |&code| code as usize + 1);
        if self.n_decoded(kind) < wanted && !self.decode_part(kind, pages, wanted)? {
            self.decode(kind, pages)?;
        }
        Ok(self.decoded.as_deref())
    }

    /// Decodes the first values; `false` where all of them are better decoded.
    fn decode_part(&mut self, kind: &K, pages: &mut Pages, wanted: usize) -> Result<bool> {
        let n_values = self.n_stored();
        // What is decoded again has at least doubled.
        let n = wanted.max(2 * self.n_decoded(kind));
        if n > n_values / 4 * 3 {
            return Ok(false);
        }
        if self.find(kind, wanted) {
            return Ok(true);
        }
        let Some(stored) = &self.stored else { return Ok(false) };
        check_encoding(stored)?;
        // Values behind the first ones may be shorter than these.
        let n_bytes = (stored.header.uncompressed / n_values + 1).saturating_mul(n) / 4 * 5 + 1024;
        let Some(bytes) = pages.load_start(stored, n_bytes)? else { return Ok(false) };
        // Where there are too few bytes, or wrong ones, those who decode all of it find out.
        let Ok(part) = kind.dictionary(bytes, n) else { return Ok(false) };
        events::count(Event::ParquetPartsOfDictionaries);
        self.decoded = Some(Arc::new(part));
        self.is_kept = false;
        Ok(true)
    }

    /// Takes it from those that are kept, if it is there with so many values.
    fn find(&mut self, kind: &K, n: usize) -> bool {
        let found = self.key.as_ref().and_then(dictionaries::find);
        let Some(found) = found.filter(|found| kind.n_values(found) >= n) else { return false };
        self.decoded = Some(found);
        self.is_kept = true;
        true
    }

    /// Keeps what is decoded, where few of its values were read.
    pub fn keep(&mut self, kind: &K) {
        if self.is_kept || self.n_used >= self.n_stored() {
            return;
        }
        if let (Some(key), Some(dictionary)) = (self.key.take(), self.decoded.take()) {
            let weight = kind.dictionary_weight(&dictionary);
            dictionaries::insert(key, dictionary, weight);
        }
    }

    fn n_stored(&self) -> usize {
        self.stored.as_ref().map_or(0, |page| page.header.n_values)
    }

    fn n_decoded(&self, kind: &K) -> usize {
        self.decoded.as_ref().map_or(0, |dictionary| kind.n_values(dictionary))
    }
}

fn check_encoding(page: &StoredPage) -> Result<()> {
    ensure!(
        matches!(page.header.encoding, encoding::PLAIN | encoding::PLAIN_DICTIONARY),
        NOT_IMPLEMENTED,
        "Parquet dictionaries of encoding {} are not supported",
        page.header.encoding
    );
    Ok(())
}
