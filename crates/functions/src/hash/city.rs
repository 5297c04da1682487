//! `cityHash64`: CityHash 1.0.2, whose results differ from later versions.

use super::any_hash::{AnyHash, Hasher, NOTHING, NULL};
use super::int_hash::mix_salted;
pub use chalet_base::city_hash::{city_hash64, hash_16};
use chalet_function_api::{Example, Record};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "cityHash64",
    summary: "A fast hash (CityHash 1.0.2) of any number of arguments of any types. Not cryptographic.",
    syntax: "cityHash64(x, ...)",
    examples: &[Example {
        sql: "SELECT cityHash64('a'), cityHash64(1, 2)",
        result: "2603192927274642682\t463667963421364848",
    }],
    total: true,
    ..Record::DEFAULT
};

pub const FUNCTION: AnyHash<City> = AnyHash { record: &RECORD, hasher: City, result: DataType::UInt64 };

pub struct City;

impl Hasher for City {
    type Hash = u64;
    const MIXES_NUMBERS: bool = true;

    fn bytes(&self, bytes: &[u8]) -> u64 {
        city_hash64(bytes)
    }

    fn combine(&self, a: u64, b: u64) -> u64 {
        hash_16(a, b)
    }

    fn number(&self, x: u64) -> u64 {
        mix_salted(x)
    }

    fn nothing(&self) -> u64 {
        NOTHING
    }

    fn null(&self) -> u64 {
        NULL as u64
    }
}
