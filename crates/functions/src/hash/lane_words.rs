//! A word of each of several strings, in the lanes of one register: 16 with AVX-512, 8 with AVX2 and elsewhere.

/// A word of each string.
pub trait Words<const LANES: usize>: Copy {
    fn each(word: u32) -> Self;
    fn load(words: &[u32; LANES]) -> Self;
    fn store(self) -> [u32; LANES];
    fn add(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn rotate_left(self, bits: u32) -> Self;

    #[inline(always)]
    fn not(self) -> Self {
        self.xor(Self::each(u32::MAX))
    }
}

/// Of any processor: the compiler finds what registers it has.
#[derive(Clone, Copy)]
pub struct Portable([u32; 8]);

impl Portable {
    #[inline(always)]
    fn with(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Portable(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }
}

impl Words<8> for Portable {
    #[inline(always)]
    fn each(word: u32) -> Self {
        Portable([word; 8])
    }

    #[inline(always)]
    fn load(words: &[u32; 8]) -> Self {
        Portable(*words)
    }

    #[inline(always)]
    fn store(self) -> [u32; 8] {
        self.0
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, u32::wrapping_add)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.with(other, |x, y| x & y)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.with(other, |x, y| x | y)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.with(other, |x, y| x ^ y)
    }

    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        Portable(self.0.map(|word| word.rotate_left(bits)))
    }
}

/// Registers of x86-64. Their methods are only called where the processor was found to have them.
#[cfg(target_arch = "x86_64")]
pub mod x86 {
    use super::Words;
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub struct Avx2(__m256i);

    #[derive(Clone, Copy)]
    pub struct Avx512(__m512i);

    macro_rules! words {
        ($name:ident $lanes:literal: $each:ident $load:ident $store:ident $add:ident $and:ident $or:ident $xor:ident, $x:ident $bits:ident => $rotate:expr) => {
            // SAFETY of all: the processor has the instructions; loads and stores are of whole arrays, at any address.
            impl Words<$lanes> for $name {
                #[inline(always)]
                fn each(word: u32) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $each(word.cast_signed()) })
                }

                #[inline(always)]
                fn load(words: &[u32; $lanes]) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $load(words.as_ptr().cast()) })
                }

                #[inline(always)]
                fn store(self) -> [u32; $lanes] {
                    let mut words = [0; $lanes];
                    // SAFETY: as above.
                    unsafe { $store(words.as_mut_ptr().cast(), self.0) };
                    words
                }

                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $add(self.0, other.0) })
                }

                #[inline(always)]
                fn and(self, other: Self) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $and(self.0, other.0) })
                }

                #[inline(always)]
                fn or(self, other: Self) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $or(self.0, other.0) })
                }

                #[inline(always)]
                fn xor(self, other: Self) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $xor(self.0, other.0) })
                }

                #[inline(always)]
                fn rotate_left(self, bits: u32) -> Self {
                    let ($x, $bits) = (self.0, bits.cast_signed());
                    // SAFETY: as above.
                    $name(unsafe { $rotate })
                }
            }
        };
    }

    words!(Avx2 8: _mm256_set1_epi32 _mm256_loadu_si256 _mm256_storeu_si256 _mm256_add_epi32 _mm256_and_si256 _mm256_or_si256 _mm256_xor_si256,
    x bits => _mm256_or_si256(
        _mm256_sll_epi32(x, _mm_cvtsi32_si128(bits)),
        _mm256_srl_epi32(x, _mm_cvtsi32_si128(32 - bits)),
    ));
    words!(Avx512 16: _mm512_set1_epi32 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_add_epi32 _mm512_and_si512 _mm512_or_si512 _mm512_xor_si512,
        x bits => _mm512_rolv_epi32(x, _mm512_set1_epi32(bits)));
}
