//! Hashes, digests and checksums.

mod any_hash;
mod city;
mod digest;
mod digest_lanes;
mod iceberg;
mod int_hash;
mod java;
mod kostik;
mod lane_words;
mod md5_lanes;
mod metro;
mod murmur;
mod plain;
mod sha;
mod sha1_lanes;
mod sha1_pairs;
pub mod sip;
mod spark;
mod sqids;
mod url;
mod wyhash;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(city::FUNCTION);
    digest::register(registry);
    iceberg::register(registry);
    registry.add_scalar(int_hash::HASH32_FUNCTION);
    registry.add_scalar(int_hash::HASH64_FUNCTION);
    registry.add_scalar(java::HIVE_FUNCTION);
    registry.add_scalar(java::JAVA_FUNCTION);
    registry.add_scalar(java::JAVA_UTF16_FUNCTION);
    registry.add_scalar(java::Jump);
    registry.add_scalar(&kostik::FUNCTION);
    plain::register(registry);
    sip::register(registry);
    registry.add_scalar(&spark::FUNCTION);
    registry.add_scalar(&sqids::ENCODE);
    registry.add_scalar(&sqids::DECODE);
    registry.add_scalar(&url::FUNCTION);
}
