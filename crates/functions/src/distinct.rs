//! The different numbers of one row after the other: what functions of sets in arrays share.

use chalet_base::hash::HashMap;

/// Up to this many different numbers are compared one by one, which for the short arrays of most tables is faster than a hash.
const FEW: usize = 16;

/// A hash table of more places than these is dropped with its row, since clearing it would cost every later row.
const KEPT: usize = 1024;

/// Different numbers, each with its place in the order of first occurrence.
#[derive(Default)]
pub struct Distinct {
    numbers: Vec<u64>,
    /// The places of the numbers, once they are more than [`FEW`].
    places: HashMap<u64, usize>,
}

impl Distinct {
    /// Forgets all numbers, for the next row.
    pub fn clear(&mut self) {
        if self.numbers.len() > FEW {
            if self.places.capacity() > KEPT {
                self.places = HashMap::default();
            } else {
                self.places.clear();
            }
        }
        self.numbers.clear();
    }

    /// How many different numbers there are.
    pub fn n_numbers(&self) -> usize {
        self.numbers.len()
    }

    /// The place of a number, if it is there.
    #[inline]
    pub fn place(&self, number: u64) -> Option<usize> {
        if self.numbers.len() <= FEW {
            self.numbers.iter().position(|&known| known == number)
        } else {
            self.places.get(&number).copied()
        }
    }

    /// The place of a number, which is added if it is not there: then it is the last.
    #[inline]
    pub fn insert(&mut self, number: u64) -> usize {
        if let Some(place) = self.place(number) {
            return place;
        }
        let place = self.numbers.len();
        self.numbers.push(number);
        match place {
            FEW => {
                self.places.extend(self.numbers.iter().enumerate().map(|(place, &number)| (number, place)))
            }
            _ if place > FEW => drop(self.places.insert(number, place)),
            _ => {}
        }
        place
    }

    /// Adds a number; was it not there before?
    #[inline]
    pub fn is_new(&mut self, number: u64) -> bool {
        let before = self.n_numbers();
        self.insert(number);
        self.n_numbers() > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_by_first_occurrence() {
        let mut distinct = Distinct::default();
        for n in [3u64, 17, 18, 5000, 2] {
            distinct.clear();
            for round in 0..2 {
                for number in 0..n {
                    assert_eq!(distinct.place(number * 7), (round > 0).then_some(number as usize));
                    assert_eq!(distinct.is_new(number * 7), round == 0);
                    assert_eq!(distinct.insert(number * 7), number as usize);
                }
            }
            assert_eq!(distinct.n_numbers(), n as usize);
            assert_eq!(distinct.place(1), None);
        }
    }
}
