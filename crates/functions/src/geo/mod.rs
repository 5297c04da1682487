//! Places on Earth, polygons, and curves that fill the plane.

mod ellipses;
mod geohash;
mod great_circle;
mod h3;
mod hilbert;
mod morton;
mod polygon;
mod ratios;
mod ring;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&ellipses::FUNCTION);
    registry.add_scalar(&geohash::ENCODE);
    registry.add_scalar(&geohash::DECODE);
    registry.add_scalar(&geohash::IN_BOX);
    great_circle::register(registry);
    h3::register(registry);
    registry.add_scalar(&hilbert::ENCODE);
    registry.add_scalar(&hilbert::DECODE);
    registry.add_scalar(&morton::ENCODE);
    registry.add_scalar(&morton::DECODE);
    registry.add_scalar(&polygon::FUNCTION);
}
