//! INDEX ... TYPE vector_similarity: what the kernel takes, and what it refuses. The graph is not built: vectors are compared one
//! by one, so that the nearest are found exactly.

use chalet_base::{Result, bail, ensure};
use chalet_syntax::ast::{Expr, ExprKind, Literal};
use chalet_types::DataType;

const METRICS: [&str; 3] = ["cosineDistance", "dotProduct", "L2Distance"];
const QUANTIZATIONS: [&str; 6] = ["f64", "f16", "i8", "b1", "bf16", "f32"];

/// Fails where `vector_similarity('hnsw', metric, dimensions[, quantization, connectivity, candidates])` is none over these types.
pub(super) fn check(args: &[Expr], types: &[DataType]) -> Result<()> {
    ensure!(
        [3, 6].contains(&args.len()),
        INCORRECT_QUERY,
        "Vector similarity index must have three or six arguments"
    );
    ensure!(
        word(&args[0]) == "hnsw",
        INCORRECT_DATA,
        "First argument (method) of vector similarity index is not supported. Supported methods are: hnsw"
    );
    ensure!(
        METRICS.contains(&word(&args[1]).as_str()),
        INCORRECT_DATA,
        "Second argument (distance function) of vector similarity index is not supported. Supported distance function are: {}",
        METRICS.join(", ")
    );
    let dimensions = number(&args[2], "Third", "dimensions")?;
    ensure!(
        dimensions > 0,
        INCORRECT_DATA,
        "Third argument (dimensions) of vector similarity index must be > 0"
    );
    if let [quantization, connectivity, candidates] = &args[3..] {
        let quantization = word(quantization);
        ensure!(
            QUANTIZATIONS.contains(&quantization.as_str()),
            INCORRECT_DATA,
            "Fourth argument (quantization) of vector similarity index is not supported. Supported quantizations are: {}",
            QUANTIZATIONS.join(", ")
        );
        ensure!(
            quantization != "b1" || dimensions.is_multiple_of(8),
            INCORRECT_DATA,
            "Binary quantization in vector similarity index requires that the dimension is a multiple of 8"
        );
        number(candidates, "Sixth", "hnsw_candidate_list_size_for_construction")?;
        ensure!(
            number(connectivity, "Fifth", "hnsw_max_connections_per_layer")? != 1,
            INCORRECT_DATA,
            "Invalid parameters passed to vector similarity index. Error: Connectivity must be at least 2, otherwise the index \
             degenerates into ropes"
        );
    }
    let [ty] = types else {
        bail!(INCORRECT_NUMBER_OF_COLUMNS, "Vector similarity index must be created on a single column")
    };
    let is_vector = match ty {
        DataType::Array(element) => {
            matches!(**element, DataType::Float32 | DataType::Float64 | DataType::BFloat16)
        }
        _ => false,
    };
    ensure!(
        is_vector,
        ILLEGAL_COLUMN,
        "Vector similarity index can only be created on columns of type Array(Float32|Float64|BFloat16)"
    );
    Ok(())
}

/// A string or a bare word.
fn word(arg: &Expr) -> String {
    match &arg.kind {
        ExprKind::Literal(Literal::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => arg.to_string(),
    }
}

fn number(arg: &Expr, which: &str, what: &str) -> Result<u64> {
    let ExprKind::Literal(_) = &arg.kind else {
        bail!(INCORRECT_QUERY, "{which} argument of vector similarity index ({what}) must be of type UInt64")
    };
    match arg.to_string().parse() {
        Ok(number) => Ok(number),
        Err(_) => {
            bail!(
                INCORRECT_QUERY,
                "{which} argument of vector similarity index ({what}) must be of type UInt64"
            )
        }
    }
}
