//! Edges between neighbouring cells, in one direction.

use super::{arrays, boundaries, cell, edge, h3_functions, of_edges, points_type, values};
use crate::plain::Plain;
use chalet_columns::{Data, Struct, Vector};
use chalet_types::{DataType, TupleField};
use h3o::DirectedEdgeIndex;

pub static FUNCTIONS: &[Plain] = h3_functions! {
    "h3UnidirectionalEdgeIsValid"(Index) -> DataType::UInt8, "(edge)", "Is the number an edge between two cells?",
        "SELECT h3UnidirectionalEdgeIsValid(1248204388774707199)" => "1",
        |call| {
            let indexes = call.natives::<u64>(0)?;
            values(call.n_rows, |row| Ok(u8::from(DirectedEdgeIndex::try_from(indexes.get(row)).is_ok())))
        };
    "h3GetUnidirectionalEdge"(Index Index) -> DataType::UInt64, "(origin, destination)",
        "The edge from one cell to another; 0 if they are no neighbours.",
        "SELECT h3GetUnidirectionalEdge(599686042433355775, 599686043507097599)" => "1248204388774707199",
        |call| {
            let (from, to) = (call.natives::<u64>(0)?, call.natives::<u64>(1)?);
            values(call.n_rows, |row| {
                let (from, to) = (cell(from.get(row))?, cell(to.get(row))?);
                Ok(from.edge(to).map_or(0, u64::from))
            })
        };
    "h3GetOriginIndexFromUnidirectionalEdge"(Index) -> DataType::UInt64, "(edge)",
        "The cell from which an edge leads.",
        "SELECT h3GetOriginIndexFromUnidirectionalEdge(1248204388774707199)" => "599686042433355775",
        |call| of_edges(call, |edge| u64::from(edge.origin()));
    "h3GetDestinationIndexFromUnidirectionalEdge"(Index) -> DataType::UInt64, "(edge)",
        "The cell to which an edge leads.",
        "SELECT h3GetDestinationIndexFromUnidirectionalEdge(1248204388774707199)" => "599686043507097599",
        |call| of_edges(call, |edge| u64::from(edge.destination()));
    "h3GetIndexesFromUnidirectionalEdge"(Index) -> ends_type(), "(edge)",
        "The cells from which and to which an edge leads.",
        "SELECT h3GetIndexesFromUnidirectionalEdge(1248204388774707199)" => "(599686042433355775,599686043507097599)",
        |call| {
            let edges = call.natives::<u64>(0)?;
            let (mut from, mut to) = (Vec::new(), Vec::new());
            for row in 0..call.n_rows {
                let edge = edge(edges.get(row))?;
                from.push(u64::from(edge.origin()));
                to.push(u64::from(edge.destination()));
            }
            let fields = vec![from.into(), to.into()];
            Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
        };
    "h3GetUnidirectionalEdgesFromHexagon"(Index) -> DataType::UInt64.array(), "(cell)",
        "All edges that lead from a cell.",
        "SELECT length(h3GetUnidirectionalEdgesFromHexagon(599686042433355775))" => "6",
        |call| {
            let cells = call.natives::<u64>(0)?;
            arrays(call.n_rows, |row, out| {
                out.extend(cell(cells.get(row))?.edges().map(u64::from));
                Ok(())
            })
        };
    "h3GetUnidirectionalEdgeBoundary"(Index) -> points_type(), "(edge)",
        "The points of an edge, as latitude and longitude.",
        "SELECT length(h3GetUnidirectionalEdgeBoundary(1248204388774707199))" => "2",
        |call| {
            let edges = call.natives::<u64>(0)?;
            boundaries(call.n_rows, |row| Ok(edge(edges.get(row))?.boundary()))
        };
    "h3ExactEdgeLengthM"(Index) -> DataType::Float64, "(edge)", "The length of an edge, in metres.",
        "SELECT round(h3ExactEdgeLengthM(1310277011704381439), 3)" => "195449.632",
        |call| of_edges(call, |edge| edge.length_m());
    "h3ExactEdgeLengthKm"(Index) -> DataType::Float64, "(edge)", "The length of an edge, in kilometres.",
        "SELECT round(h3ExactEdgeLengthKm(1310277011704381439), 6)" => "195.449632",
        |call| of_edges(call, |edge| edge.length_km());
    "h3ExactEdgeLengthRads"(Index) -> DataType::Float64, "(edge)", "The length of an edge, in radians.",
        "SELECT round(h3ExactEdgeLengthRads(1310277011704381439), 9)" => "0.03067798",
        |call| of_edges(call, |edge| edge.length_rads());
};

fn ends_type() -> DataType {
    let field = |name: &str| TupleField { name: Some(name.into()), ty: DataType::UInt64 };
    DataType::Tuple([field("origin"), field("destination")].into())
}
