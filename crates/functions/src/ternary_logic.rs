//! Numbers as booleans, and three-valued (Kleene) logic over rows.

use crate::lanes::{Operand, predicate};
use chalet_base::Result;
use chalet_columns::{BooleanBuffer, Data, NullBuffer};

/// 1 for every value that is not zero (NaN is not), one per row.
pub fn as_bools(operand: Operand, n: usize) -> Result<Vec<u8>> {
    if let Data::Nothing(_) = operand.vector.data {
        return Ok(vec![0; n]);
    }
    match operand.vector.data {
        Data::F32(_) | Data::F64(_) => predicate::<f64>(operand, operand, n, |x, _| x != 0.0),
        Data::U8(_) => predicate::<u8>(operand, operand, n, |x, _| x != 0),
        _ => predicate::<i64>(operand, operand, n, |x, _| x != 0),
    }
}

/// Where a Nullable operand is not NULL; none when it never is NULL.
pub fn known(operand: Operand, n: usize) -> Option<BooleanBuffer> {
    if let Data::Nothing(_) = operand.vector.data {
        return Some(BooleanBuffer::new_unset(n));
    }
    let validity = operand.vector.validity.as_ref()?;
    Some(if operand.constant { BooleanBuffer::new_unset(n) } else { validity.inner().clone() })
}

/// A three-valued boolean per row: true, false, or unknown.
pub struct Ternary {
    yes: BooleanBuffer,
    no: BooleanBuffer,
}

impl Ternary {
    pub fn all(n: usize, truth: bool) -> Ternary {
        let (set, unset) = (BooleanBuffer::new_set(n), BooleanBuffer::new_unset(n));
        if truth { Ternary { yes: set, no: unset } } else { Ternary { yes: unset, no: set } }
    }

    /// Of values that are 0 or 1, where they are known.
    pub fn of(values: &[u8], known: Option<BooleanBuffer>) -> Ternary {
        let truth = chalet_columns::bits::nonzero(values);
        match known {
            None => Ternary { no: !&truth, yes: truth },
            Some(known) => Ternary { yes: &truth & &known, no: &!&truth & &known },
        }
    }

    pub fn and(&self, other: &Ternary) -> Ternary {
        Ternary { yes: &self.yes & &other.yes, no: &self.no | &other.no }
    }

    pub fn or(&self, other: &Ternary) -> Ternary {
        Ternary { yes: &self.yes | &other.yes, no: &self.no & &other.no }
    }

    /// 0 or 1 for each row, and where it is known.
    pub fn into_parts(self) -> (Vec<u8>, Option<NullBuffer>) {
        let known = &self.yes | &self.no;
        let values = chalet_columns::bits::to_bytes(&self.yes);
        let validity = (known.count_set_bits() < known.len()).then(|| NullBuffer::new(known));
        (values, validity)
    }
}
