//! Cells: their properties, their family, their neighbours.

use super::{arrays, cell, check_size, h3_functions, of_cells, resolution, values};
use crate::plain::Plain;
use crate::string_args::{StringArg, build};
use chalet_base::{ensure, err};
use chalet_types::DataType;
use h3o::CellIndex;

pub static FUNCTIONS: &[Plain] = h3_functions! {
    "h3IsValid"(Index) -> DataType::UInt8, "(cell)", "Is the number a cell?",
        "SELECT h3IsValid(630814730351855103)" => "1",
        |call| {
            let indexes = call.natives::<u64>(0)?;
            values(call.n_rows, |row| Ok(u8::from(CellIndex::try_from(indexes.get(row)).is_ok())))
        };
    "h3GetResolution"(Index) -> DataType::UInt8, "(cell)", "The resolution of a cell, from 0 to 15.",
        "SELECT h3GetResolution(617420388352917503)" => "9",
        |call| of_cells(call, |cell| Ok(u8::from(cell.resolution())));
    "h3GetBaseCell"(Index) -> DataType::UInt8, "(cell)", "The number of the coarsest cell around a cell.",
        "SELECT h3GetBaseCell(612916788725809151)" => "12",
        |call| of_cells(call, |cell| Ok(u8::from(cell.base_cell())));
    "h3IsPentagon"(Index) -> DataType::UInt8, "(cell)", "Is the cell one of the few that have five sides?",
        "SELECT h3IsPentagon(590112357393367039)" => "1",
        |call| of_cells(call, |cell| Ok(u8::from(cell.is_pentagon())));
    "h3IsResClassIII"(Index) -> DataType::UInt8, "(cell)",
        "Is the cell of a resolution whose grid is turned against the coarsest?",
        "SELECT h3IsResClassIII(617420388352917503)" => "1",
        |call| of_cells(call, |cell| Ok(u8::from(cell.resolution().is_class3())));
    "h3GetFaces"(Index) -> DataType::UInt8.array(), "(cell)", "The faces of the icosahedron on which a cell lies.",
        "SELECT arraySort(h3GetFaces(599119489002373119))" => "[0,1,2,3,4]",
        |call| {
            let cells = call.natives::<u64>(0)?;
            arrays(call.n_rows, |row, out| {
                out.extend(cell(cells.get(row))?.icosahedron_faces().iter().map(u8::from));
                Ok(())
            })
        };
    "h3CellAreaM2"(Index) -> DataType::Float64, "(cell)", "The area of a cell, in square metres.",
        "SELECT round(h3CellAreaM2(579205133326352383))" => "4106166334464",
        |call| of_cells(call, |cell| Ok(cell.area_m2()));
    "h3CellAreaRads2"(Index) -> DataType::Float64, "(cell)", "The area of a cell, in square radians.",
        "SELECT round(h3CellAreaRads2(579205133326352383), 9)" => "0.101162685",
        |call| of_cells(call, |cell| Ok(cell.area_rads2()));
    "h3ToString"(Index) -> DataType::String, "(cell)", "A cell as hexadecimal digits.",
        "SELECT h3ToString(617420388352917503)" => "89184926cdbffff",
        |call| {
            let cells = call.natives::<u64>(0)?;
            for row in 0..call.n_rows {
                let index = cells.get(row);
                ensure!(
                    CellIndex::try_from(index).is_ok(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Invalid H3 index: {index} in function h3ToString"
                );
            }
            Ok(build(call.n_rows, |row, out| out.extend_from_slice(format!("{:x}", cells.get(row)).as_bytes())))
        };
    "stringToH3"(String) -> DataType::UInt64, "(s)", "The cell of hexadecimal digits.",
        "SELECT stringToH3('89184926cc3ffff')" => "617420388351344639",
        |call| {
            let texts = StringArg::of(call, 0)?;
            values(call.n_rows, |row| {
                let text = texts.get(row);
                let wrong = || err!(ILLEGAL_TYPE_OF_ARGUMENT, "Invalid H3 index: {} in function stringToH3", String::from_utf8_lossy(text));
                let digits = std::str::from_utf8(text).map_err(|_| wrong())?;
                let index = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
                CellIndex::try_from(index).map(u64::from).map_err(|_| wrong())
            })
        };
    "h3ToParent"(Index Resolution) -> DataType::UInt64, "(cell, resolution)", "The coarser cell around a cell.",
        "SELECT h3ToParent(599405990164561919, 3)" => "590398848891879423",
        |call| {
            let (cells, resolutions) = (call.natives::<u64>(0)?, call.natives::<u8>(1)?);
            values(call.n_rows, |row| {
                let (cell, resolution) = (cell(cells.get(row))?, resolution("h3ToParent", resolutions.get(row))?);
                Ok(cell.parent(resolution).map_or(0, u64::from))
            })
        };
    "h3ToCenterChild"(Index Resolution) -> DataType::UInt64, "(cell, resolution)",
        "The finer cell at the centre of a cell.",
        "SELECT h3ToCenterChild(577023702256844799, 1)" => "581496515558637567",
        |call| {
            let (cells, resolutions) = (call.natives::<u64>(0)?, call.natives::<u8>(1)?);
            values(call.n_rows, |row| {
                let resolution = resolution("h3ToCenterChild", resolutions.get(row))?;
                Ok(cell(cells.get(row))?.center_child(resolution).map_or(0, u64::from))
            })
        };
    "h3ToChildren"(Index Resolution) -> DataType::UInt64.array(), "(cell, resolution)", "The finer cells in a cell.",
        "SELECT length(h3ToChildren(599405990164561919, 6))" => "7",
        |call| {
            let (cells, resolutions) = (call.natives::<u64>(0)?, call.natives::<u8>(1)?);
            arrays(call.n_rows, |row, out| {
                let (cell, resolution) = (cell(cells.get(row))?, resolution("h3ToChildren", resolutions.get(row))?);
                check_size("h3ToChildren", cell.children_count(resolution))?;
                out.extend(cell.children(resolution).map(u64::from));
                Ok(())
            })
        };
    "h3IndexesAreNeighbors"(Index Index) -> DataType::UInt8, "(cell1, cell2)", "Do two cells share an edge?",
        "SELECT h3IndexesAreNeighbors(617420388351344639, 617420388352655359)" => "1",
        |call| {
            let (a, b) = (call.natives::<u64>(0)?, call.natives::<u64>(1)?);
            values(call.n_rows, |row| {
                Ok(u8::from(cell(a.get(row))?.is_neighbor_with(cell(b.get(row))?).unwrap_or(false)))
            })
        };
    "h3Distance"(Index Index) -> DataType::Int64, "(cell1, cell2)", "The cells from one to the other.",
        "SELECT h3Distance(590080540275638271, 590103561300344831)" => "6",
        |call| {
            let (a, b) = (call.natives::<u64>(0)?, call.natives::<u64>(1)?);
            values(call.n_rows, |row| {
                let (a, b) = (cell(a.get(row))?, cell(b.get(row))?);
                let n = a.grid_distance(b).map_err(|_| {
                    err!(INCORRECT_DATA, "Incorrect arguments: there is no distance of H3 cells {} and {}", u64::from(a), u64::from(b))
                })?;
                Ok(i64::from(n))
            })
        };
    "h3Line"(Index Index) -> DataType::UInt64.array(), "(cell1, cell2)", "The cells on the way from one to the other.",
        "SELECT length(h3Line(590080540275638271, 590103561300344831))" => "7",
        |call| {
            let (a, b) = (call.natives::<u64>(0)?, call.natives::<u64>(1)?);
            arrays(call.n_rows, |row, out| {
                let (a, b) = (cell(a.get(row))?, cell(b.get(row))?);
                let wrong = || err!(INCORRECT_DATA, "Incorrect arguments: there is no line of H3 cells {} and {}", u64::from(a), u64::from(b));
                check_size("h3Line", a.grid_path_cells_size(b).map_err(|_| wrong())?.unsigned_abs().into())?;
                for step in a.grid_path_cells(b).map_err(|_| wrong())? {
                    out.push(u64::from(step.map_err(|_| wrong())?));
                }
                Ok(())
            })
        };
    "h3HexRing"(Index Distance) -> DataType::UInt64.array(), "(cell, k)", "The cells k steps away from a cell.",
        "SELECT length(h3HexRing(590080540275638271, toUInt16(1)))" => "6",
        |call| {
            let (cells, distances) = (call.natives::<u64>(0)?, call.natives::<u16>(1)?);
            arrays(call.n_rows, |row, out| {
                let (cell, k) = (cell(cells.get(row))?, u32::from(distances.get(row)));
                let ring: Vec<CellIndex> = cell.grid_ring(k);
                out.extend(ring.into_iter().map(u64::from));
                Ok(())
            })
        };
    "h3kRing"(Index Unsigned) -> DataType::UInt64.array(), "(cell, k)", "The cells at most k steps away from a cell, and the cell.",
        "SELECT length(h3kRing(644325529233966508, 1))" => "7",
        |call| {
            let cells = call.natives::<u64>(0)?;
            let distances = crate::string_args::integers(call, 1)?;
            arrays(call.n_rows, |row, out| {
                let (cell, k) = (cell(cells.get(row))?, distances[row] as u64);
                ensure!(
                    k <= u64::from(u16::MAX),
                    PARAMETER_OUT_OF_BOUND,
                    "Too large 'k' argument for h3kRing function, maximum {}",
                    u16::MAX
                );
                check_size("h3kRing", 3 * k * (k + 1) + 1)?;
                let disk: Vec<CellIndex> = cell.grid_disk(k as u32);
                out.extend(disk.into_iter().map(u64::from));
                Ok(())
            })
        };
    "h3GetRes0Indexes"() -> DataType::UInt64.array(), "()", "All cells of the coarsest resolution.",
        "SELECT length(h3GetRes0Indexes())" => "122",
        |call| arrays(call.n_rows, |_, out| {
            out.extend(CellIndex::base_cells().map(u64::from));
            Ok(())
        });
};
