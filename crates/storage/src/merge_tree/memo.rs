//! What was made of the definition of a table, kept with its handle: an altered table has another handle, and begins anew.

use chalet_base::Result;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

type Kept = Option<(Arc<str>, Arc<dyn Any + Send + Sync>)>;

/// The last thing that was made, shared by the clones of a handle. It must not hold the table's database, which holds it.
#[derive(Clone, Default)]
pub struct Memo(Arc<Mutex<Kept>>);

impl Memo {
    /// What was made last, if that was `under` the same circumstances; else what `make` gives.
    pub fn get_or_make<T: Any + Send + Sync>(
        &self,
        under: &Arc<str>,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let same = kept.filter(|(of, _)| of == under).and_then(|(_, made)| made.downcast().ok());
        if let Some(made) = same {
            return Ok(made);
        }
        let made = Arc::new(make()?);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((under.clone(), made.clone()));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_made_again_under_other_circumstances() {
        let memo = Memo::default();
        let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
        let get = |under, n| *memo.clone().get_or_make(under, || Ok(n)).unwrap();
        assert_eq!([get(&one, 1), get(&one, 2), get(&two, 3), get(&one, 4)], [1, 1, 3, 4]);
        assert_eq!(*memo.get_or_make(&one, || Ok("another type")).unwrap(), "another type");
    }

    #[test]
    fn what_fails_is_not_kept() {
        let (memo, under) = (Memo::default(), Arc::from(""));
        memo.get_or_make::<u8>(&under, || chalet_base::bail!(BAD_ARGUMENTS, "no")).unwrap_err();
        assert_eq!(*memo.get_or_make(&under, || Ok(1)).unwrap(), 1);
    }
}
