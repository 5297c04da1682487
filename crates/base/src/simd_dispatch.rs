//! SIMD dispatch at run time: loops compiled a second time for AVX2, taken where the processor has it; a few are written for AVX-512, too.

#[cfg(target_arch = "x86_64")]
use crate::switches::{self, Switch};

/// What the processor has, and is used of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has.
    Plain,
    Avx2,
    /// The parts F, BW, DQ and VL.
    Avx512,
}

/// The highest level that the processor has. `CHALET_SWITCHES=-avx-512` leaves the highest one out.
#[inline]
pub fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        let is_wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && switches::is_on(Switch::Avx512);
        return if is_wide { Level::Avx512 } else { Level::Avx2 };
    }
    Level::Plain
}

/// Does `work`, compiled for AVX2 and its companions where the processor has them. What `work` calls must be inlined to be
/// compiled so too, so it should be a plain loop; a call costs a look at a flag.
#[inline(always)]
pub fn dispatch_simd<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has these instructions.
        return unsafe { with_avx2(work) };
    }
    work()
}

/// Whether the processor has what `dispatch_simd` asks for: AVX2, BMI1, BMI2, LZCNT and POPCNT.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn has_avx2() -> bool {
    // The compiler's library remembers the answers.
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Does `fused`, compiled for processors that multiply and add with one rounding (FMA), where this one is one; else `otherwise`.
/// As with [`dispatch_simd`], what it calls must be inlined.
#[inline(always)]
pub fn dispatch_fma<T, R>(on: T, fused: impl FnOnce(T) -> R, otherwise: impl FnOnce(T) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has these instructions.
        return unsafe { with_fma(on, fused) };
    }
    otherwise(on)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,fma")]
fn with_fma<T, R>(on: T, work: impl FnOnce(T) -> R) -> R {
    work(on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_what_the_work_gives() {
        let numbers: Vec<u32> = (0..1000).collect();
        assert_eq!(dispatch_simd(|| numbers.iter().sum::<u32>()), 499_500);
        let mut doubled = Vec::new();
        dispatch_simd(|| doubled.extend(numbers.iter().map(|n| n * 2)));
        assert_eq!(doubled[999], 1998);
    }
}
