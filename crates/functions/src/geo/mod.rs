//! Places on Earth, polygons, and curves that fill the plane.

mod areas;
mod convex_hull;
mod ellipses;
mod flip_coordinates;
mod geohash;
mod great_circle;
mod h3;
mod hilbert;
mod intersects;
mod measures;
mod morton;
mod overlay;
mod polygon;
mod ratios;
mod relations;
mod ring;
mod shape;
mod six_digits;
mod svg;
mod tiles;
mod utm;
mod wkb;
mod wkt;

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
    registry.add_scalar(&convex_hull::FUNCTION);
    registry.add_scalar(&flip_coordinates::FUNCTION);
    registry.add_scalar(&svg::FUNCTION);
    areas::register(registry);
    intersects::register(registry);
    measures::register(registry);
    relations::register(registry);
    tiles::register(registry);
    utm::register(registry);
    wkb::register(registry);
    wkt::register(registry);
}
