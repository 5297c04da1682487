//! The two floats that statistics compute in: Float32 arguments are summed as such, everything else as Float64.

use chalet_base::Result;
use chalet_columns::Native;
use chalet_columns::wire::take_array;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

pub trait Real:
    Native + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + AddAssign
{
    const NAN: Self;
    fn of(x: f64) -> Self;
    fn sqrt(self) -> Self;
    fn wide(self) -> f64;
    fn put(self, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self>;
}

macro_rules! reals {
    ($($ty:ident),*) => {$(
        impl Real for $ty {
            const NAN: Self = $ty::NAN;
            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $ty
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &mut &[u8]) -> Result<Self> {
                Ok($ty::from_le_bytes(take_array(bytes)?))
            }
        }
    )*};
}

reals!(f32, f64);

pub fn put_all<F: Real, const N: usize>(state: &[F; N], out: &mut Vec<u8>) {
    state.iter().for_each(|x| x.put(out));
}

pub fn take_all<F: Real, const N: usize>(bytes: &mut &[u8]) -> Result<[F; N]> {
    let mut state = [F::default(); N];
    for x in &mut state {
        *x = F::take(bytes)?;
    }
    Ok(state)
}
