//! Rows picked from several vectors of one type by a choice per row: the end of `if`, `multiIf`, `coalesce`, `least`.

use chalet_base::Result;
use chalet_columns::strings::INLINE;
use chalet_columns::{Buf, Data, Native, NullBuffer, Strings, Struct, Vector, bits, each_native};

/// One source of rows; a constant has a single row.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    pub vector: &'a Vector,
    pub constant: bool,
}

impl Branch<'_> {
    #[inline(always)]
    fn row(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }
}

/// Row `i` of the result is row `i` of the branch `choice[i]`. Strings keep their bytes where they are.
pub fn select(branches: &[Branch], choice: &[u8]) -> Result<Vector> {
    let n = choice.len();
    if let [only] = branches {
        return Ok(if only.constant { only.vector.repeat(n) } else { only.vector.clone() });
    }
    let validity = selected_validity(branches, choice);
    let data = match &branches[0].vector.data {
        Data::Nothing(_) => Data::Nothing(n),
        Data::Str(_) => Data::Str(strings(branches, choice)?),
        Data::Struct(first) => {
            let fields = (0..first.fields.len()).map(|i| {
                let parts = branches
                    .iter()
                    .map(|b| Ok(Branch { vector: &b.vector.structure()?.fields[i], constant: b.constant }));
                select(&parts.collect::<Result<Vec<_>>>()?, choice)
            });
            Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: n })
        }
        Data::Fixed(_) | Data::List(_) => {
            let parts: Vec<Vector> = branches.iter().map(|b| b.vector.without_nulls()).collect();
            let joined = Vector::concat(&parts.iter().collect::<Vec<_>>());
            let mut start = 0;
            let starts: Vec<usize> = parts
                .iter()
                .map(|part| {
                    start += part.len();
                    start - part.len()
                })
                .collect();
            let rows = choice.iter().enumerate().map(|(row, &pick)| {
                let pick = pick as usize;
                (starts[pick] + branches[pick].row(row)) as u32
            });
            joined.gather(&rows.collect::<Vec<u32>>()).data
        }
        other => each_native!(other, values => natives(values, branches, choice)?, _ => Data::Nothing(n)),
    };
    Ok(Vector::new(data, validity))
}

/// Which rows of the choice are valid; none where no branch has a NULL.
fn selected_validity(branches: &[Branch], choice: &[u8]) -> Option<NullBuffer> {
    let has_nulls = |branch: &Branch| branch.vector.null_count() > 0;
    if !branches.iter().any(has_nulls) {
        return None;
    }
    // Branch by branch over all rows, so that no loop has a branch of its own.
    let mut is_valid = vec![0u8; choice.len()];
    for (index, branch) in (0u8..).zip(branches) {
        let picked = choice.iter().map(|&pick| u8::from(pick == index));
        match &branch.vector.validity {
            Some(validity) if branch.constant => {
                let valid = u8::from(validity.is_valid(0));
                is_valid.iter_mut().zip(picked).for_each(|(out, picked)| *out |= picked & valid);
            }
            Some(validity) if validity.null_count() > 0 => {
                let valid = bits::to_bytes(validity.inner());
                let rows = picked.zip(valid);
                is_valid.iter_mut().zip(rows).for_each(|(out, (picked, valid))| *out |= picked & valid);
            }
            _ => is_valid.iter_mut().zip(picked).for_each(|(out, picked)| *out |= picked),
        }
    }
    Some(NullBuffer::new(bits::nonzero(&is_valid)))
}

fn natives<T: Native>(_: &Buf<T>, branches: &[Branch], choice: &[u8]) -> Result<Data> {
    let slices: Vec<&[T]> = branches.iter().map(|b| b.vector.values::<T>()).collect::<Result<_>>()?;
    if let ([x, y], [a, b]) = (&slices[..], branches) {
        // Both values are read, so that the loop has no branch.
        let picked: Buf<T> = match (a.constant, b.constant) {
            (false, false) => {
                let pairs = x.iter().zip(*y);
                choice.iter().zip(pairs).map(|(&c, (&x, &y))| if c == 0 { x } else { y }).collect()
            }
            (true, false) => {
                let x = x[0];
                choice.iter().zip(*y).map(|(&c, &y)| if c == 0 { x } else { y }).collect()
            }
            (false, true) => {
                let y = y[0];
                choice.iter().zip(*x).map(|(&c, &x)| if c == 0 { x } else { y }).collect()
            }
            (true, true) => choice.iter().map(|&c| if c == 0 { x[0] } else { y[0] }).collect(),
        };
        return Ok(T::wrap(picked));
    }
    let pick = |(row, &pick): (usize, &u8)| slices[pick as usize][branches[pick as usize].row(row)];
    Ok(T::wrap(choice.iter().enumerate().map(pick).collect()))
}

fn strings(branches: &[Branch], choice: &[u8]) -> Result<Strings> {
    let mut buffers = Vec::new();
    let mut sources = Vec::with_capacity(branches.len());
    for branch in branches {
        let strings = branch.vector.strings()?;
        sources.push((&strings.views()[..], (buffers.len() as u128) << 64));
        buffers.extend(strings.buffers().iter().cloned());
    }
    let moved = |view: u128, shift: u128| if view as u32 as usize <= INLINE { view } else { view + shift };
    let views: Vec<u128> = match (&sources[..], branches) {
        // Both are read, so that the loop has no branch: mostly which is picked cannot be guessed.
        ([(x, _), (y, shift)], [a, b]) => {
            let (at_x, at_y) = (usize::from(!a.constant), usize::from(!b.constant));
            let pick = |(row, &pick): (usize, &u8)| {
                let (x, y) = (x[row * at_x], moved(y[row * at_y], *shift));
                if pick == 0 { x } else { y }
            };
            choice.iter().enumerate().map(pick).collect()
        }
        _ => {
            let pick = |(row, &pick): (usize, &u8)| {
                let (views, shift) = sources[pick as usize];
                moved(views[branches[pick as usize].row(row)], shift)
            };
            choice.iter().enumerate().map(pick).collect()
        }
    };
    // SAFETY: each view comes from a column whose buffers now begin at the number added to the view's own.
    Ok(unsafe { Strings::from_views(views.into(), buffers.into()) })
}
