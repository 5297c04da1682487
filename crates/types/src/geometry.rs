//! Names of geometries: `Point`, `Ring` and their like are tuples and arrays that show a name of their own instead of what they are
//! made of. The name says how functions take a value (a `LineString` is no `Ring`), but values are the same: types that differ
//! in such a name alone are equal, and are told apart where the dialect goes by names, among the alternatives of a Variant.
//! `Nested(...)`, an array of tuples, is shown by its name likewise.

use crate::{DataType, TupleField};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A geometry whose type has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Geometry {
    Point,
    MultiPoint,
    Ring,
    LineString,
    MultiLineString,
    Polygon,
    MultiPolygon,
    /// Any of the others, or NULL.
    Any,
}

impl Geometry {
    /// In the order in which the type Geometry numbers them.
    pub const ALTERNATIVES: [Geometry; 7] = [
        Geometry::LineString,
        Geometry::MultiLineString,
        Geometry::MultiPolygon,
        Geometry::Point,
        Geometry::Polygon,
        Geometry::Ring,
        Geometry::MultiPoint,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Geometry::Point => "Point",
            Geometry::MultiPoint => "MultiPoint",
            Geometry::Ring => "Ring",
            Geometry::LineString => "LineString",
            Geometry::MultiLineString => "MultiLineString",
            Geometry::Polygon => "Polygon",
            Geometry::MultiPolygon => "MultiPolygon",
            Geometry::Any => "Geometry",
        }
    }

    /// The geometry of a name, which is exact in its case.
    pub fn of_name(name: &str) -> Option<Geometry> {
        let all = Geometry::ALTERNATIVES.into_iter().chain([Geometry::Any]);
        all.into_iter().find(|geometry| geometry.name() == name)
    }

    /// Arrays around the points; none are known of any geometry.
    pub fn depth(self) -> Option<usize> {
        match self {
            Geometry::Point => Some(0),
            Geometry::MultiPoint | Geometry::Ring | Geometry::LineString => Some(1),
            Geometry::MultiLineString | Geometry::Polygon => Some(2),
            Geometry::MultiPolygon => Some(3),
            Geometry::Any => None,
        }
    }

    pub fn data_type(self) -> DataType {
        let list =
            |of: Geometry| DataType::Array(Named::new(Arc::new(of.data_type()), Some(Name::Geometry(self))));
        match self {
            Geometry::Point => {
                let name = Some(Name::Geometry(self));
                let coordinate = || TupleField { name: None, ty: DataType::Float64 };
                DataType::Tuple(Named::new(Arc::new([coordinate(), coordinate()]), name))
            }
            Geometry::MultiPoint | Geometry::Ring | Geometry::LineString => list(Geometry::Point),
            Geometry::MultiLineString => list(Geometry::LineString),
            Geometry::Polygon => list(Geometry::Ring),
            Geometry::MultiPolygon => list(Geometry::Polygon),
            Geometry::Any => {
                let types = Geometry::ALTERNATIVES.map(Geometry::data_type);
                DataType::Variant(Alternatives(Named::new(Arc::new(types), Some(Name::Geometry(self)))))
            }
        }
    }
}

impl DataType {
    /// The geometry whose name the type shows.
    pub fn geometry(&self) -> Option<Geometry> {
        let name = match self {
            DataType::Array(element) => element.name,
            DataType::Tuple(fields) => fields.name,
            DataType::Variant(types) => types.0.name,
            _ => None,
        };
        match name? {
            Name::Geometry(geometry) => Some(geometry),
            Name::Nested => None,
        }
    }

    /// `Nested(...)` of these elements.
    pub fn nested(elements: Named<[TupleField]>) -> DataType {
        DataType::Array(Named::new(Arc::new(DataType::Tuple(elements)), Some(Name::Nested)))
    }

    /// The elements of an array of tuples that is shown as `Nested(...)`.
    pub fn nested_elements(&self) -> Option<&[TupleField]> {
        match self {
            DataType::Array(Named { parts, name: Some(Name::Nested) }) => match &**parts {
                DataType::Tuple(fields) => Some(fields),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type as what it is made of; the parts keep their names.
    pub fn without_name(self) -> DataType {
        match self {
            DataType::Array(element) => DataType::Array(Named { name: None, ..element }),
            DataType::Tuple(fields) => DataType::Tuple(Named { name: None, ..fields }),
            other => other,
        }
    }

    /// Are the types equal, and do they show the same name?
    pub fn is_same(&self, other: &DataType) -> bool {
        let composite = matches!(
            self.without_nullable(),
            DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) | DataType::Variant(_)
        );
        self == other && (!composite || self.to_string() == other.to_string())
    }
}

/// What a type shows instead of what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Geometry(Geometry),
    Nested,
}

/// What a type is made of, shared, and the name that it shows instead. The name is no part of equality.
pub struct Named<T: ?Sized> {
    parts: Arc<T>,
    name: Option<Name>,
}

impl<T: ?Sized> Named<T> {
    fn new(parts: Arc<T>, name: Option<Name>) -> Self {
        Named { parts, name }
    }
}

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Self {
        Named { parts: Arc::clone(&self.parts), name: self.name }
    }
}

impl<T: ?Sized> Deref for Named<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.parts
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(Name::Geometry(geometry)) => f.write_str(geometry.name()),
            Some(Name::Nested) => write!(f, "Nested {:?}", &self.parts),
            None => self.parts.fmt(f),
        }
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) || self.parts == other.parts
    }
}

impl<T: ?Sized + Eq> Eq for Named<T> {}

impl<T: ?Sized + Hash> Hash for Named<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts.hash(state);
    }
}

/// The element of an Array, as a type of its own.
impl fmt::Display for Named<DataType> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.fmt(f)
    }
}

impl<T: ?Sized> AsRef<T> for Named<T> {
    fn as_ref(&self) -> &T {
        &self.parts
    }
}

impl From<DataType> for Named<DataType> {
    fn from(element: DataType) -> Self {
        Named::new(Arc::new(element), None)
    }
}

impl From<Arc<DataType>> for Named<DataType> {
    fn from(element: Arc<DataType>) -> Self {
        Named::new(element, None)
    }
}

impl<T, S: Into<Arc<[T]>>> From<S> for Named<[T]> {
    fn from(parts: S) -> Self {
        Named::new(parts.into(), None)
    }
}

impl<T> FromIterator<T> for Named<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(parts: I) -> Self {
        Named::new(parts.into_iter().collect(), None)
    }
}

/// The types of a Variant. Those that differ in their names alone are different here.
#[derive(Clone, Debug)]
pub struct Alternatives(Named<[DataType]>);

impl Alternatives {
    /// Does a literal of this type, which is none of them, become the first that its text is a value of?
    pub fn reads_text_of(&self, literal: &DataType) -> bool {
        let composed = matches!(literal, DataType::Array(_) | DataType::Tuple(_));
        (literal.is_number() || composed) && self.number_of(literal).is_none()
    }

    /// The number of a type, which is found by its name.
    pub fn number_of(&self, ty: &DataType) -> Option<usize> {
        self.iter().position(|alternative| alternative.is_same(ty))
    }
}

impl Deref for Alternatives {
    type Target = [DataType];

    fn deref(&self) -> &[DataType] {
        &self.0
    }
}

impl PartialEq for Alternatives {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.parts, &other.0.parts)
            || self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| a.is_same(b))
    }
}

impl Eq for Alternatives {}

impl Hash for Alternatives {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl FromIterator<DataType> for Alternatives {
    fn from_iter<I: IntoIterator<Item = DataType>>(types: I) -> Self {
        Alternatives(types.into_iter().collect())
    }
}
