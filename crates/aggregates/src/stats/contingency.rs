//! How much two columns of categories have to do with each other: `cramersV`, `cramersVBiasCorrected`, `theilsU`,
//! `contingency`.

use crate::check::{no_parameters, two_arguments};
use crate::uniq::keys::WideKeys;
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::wire::{put_len, take_array, take_count, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

#[derive(Clone, Copy)]
enum Measure {
    CramersV,
    CramersVBiasCorrected,
    TheilsU,
    Contingency,
}

pub struct Categories {
    record: &'static AggregateRecord,
    measure: Measure,
}

macro_rules! records {
    ($($id:ident: $measure:ident, $name:literal, $summary:literal, $result:literal;)*) => {
        $(const $id: AggregateRecord = AggregateRecord {
            name: $name,
            summary: $summary,
            syntax: concat!($name, "(x, y)"),
            examples: &[Example {
                sql: concat!("SELECT round(", $name, "(x, y), 6) FROM values('x Int8, y Int8', (1, 1), (1, 2), (2, 2), \
                    (2, 2), (3, 1), (3, 3))"),
                result: $result,
            }],
            ..AggregateRecord::DEFAULT
        };)*
        impl Categories {
            pub const ALL: [Categories; 4] =
                [$(Categories { record: &$id, measure: Measure::$measure }),*];
        }
    };
}

records! {
    CRAMERS_V: CramersV, "cramersV", "Cramer's V of two columns: 0 of independent ones, 1 of equal ones.", "0.645497";
    CORRECTED: CramersVBiasCorrected, "cramersVBiasCorrected", "Cramer's V of two columns, corrected for its bias.",
        "0.166667";
    THEILS_U: TheilsU, "theilsU", "Theil's U: how much of the first column the second one tells.", "0.5";
    CONTINGENCY: Contingency, "contingency", "The contingency coefficient of two columns.", "0.6742";
}

impl AggregateFunction for Categories {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(self.record.name, parameters)?;
        two_arguments(self.record.name, args)?;
        let keys = [WideKeys::new(&args[..1]), WideKeys::new(&args[1..])];
        Ok(EachState::of(Pairs { measure: self.measure, keys }))
    }
}

struct Pairs {
    measure: Measure,
    keys: [WideKeys; 2],
}

impl RowAggregate for Pairs {
    /// Rows by pair of values.
    type State = HashMap<(u128, u128), u64>;
    type Input<'a> = &'a [Vector];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> Self::State {
        HashMap::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [Vector]> {
        Ok(args)
    }

    fn add(&self, state: &mut Self::State, args: &&[Vector], row: usize) -> Result<()> {
        let mut pair = (0, 0);
        self.keys[0].for_each(&args[..1], row..row + 1, |_, key| pair.0 = key);
        self.keys[1].for_each(&args[1..], row..row + 1, |_, key| pair.1 = key);
        *state.entry(pair).or_default() += 1;
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()> {
        other.into_iter().for_each(|(pair, n)| *state.entry(pair).or_default() += n);
        Ok(())
    }

    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for ((x, y), n) in state {
            out.extend(x.to_le_bytes());
            out.extend(y.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let n = take_count(bytes, 40)?;
        let key = |bytes: &mut &[u8]| Ok(u128::from_le_bytes(take_array(bytes)?));
        (0..n).map(|_| Ok(((key(bytes)?, key(bytes)?), take_u64(bytes)?))).collect()
    }

    fn finish(&self, state: &mut Self::State, out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(measure(self.measure, state));
        Ok(())
    }

    fn heap_memory(&self, state: &Self::State) -> usize {
        state.capacity() * 49
    }
}

fn measure(measure: Measure, pairs: &HashMap<(u128, u128), u64>) -> f64 {
    let (mut xs, mut ys): (HashMap<u128, f64>, HashMap<u128, f64>) = Default::default();
    let mut total = 0.0;
    for ((x, y), &n) in pairs {
        *xs.entry(*x).or_default() += n as f64;
        *ys.entry(*y).or_default() += n as f64;
        total += n as f64;
    }
    if total < 2.0 {
        return f64::NAN;
    }
    // Chi squared by the number of rows.
    let phi = pairs.iter().map(|((x, y), &n)| (n * n) as f64 / (xs[x] * ys[y])).sum::<f64>() - 1.0;
    let phi = phi.max(0.0);
    let (rows, columns) = (xs.len() as f64, ys.len() as f64);
    match measure {
        Measure::CramersV => (phi / (rows.min(columns) - 1.0)).sqrt(),
        Measure::CramersVBiasCorrected => {
            let freedom = (rows - 1.0) * (columns - 1.0);
            let corrected = (phi - freedom / (total - 1.0)).max(0.0);
            let shrunk = |n: f64| n - (n - 1.0) * (n - 1.0) / (total - 1.0);
            (corrected / (shrunk(rows).min(shrunk(columns)) - 1.0)).sqrt()
        }
        Measure::Contingency => (phi / (phi + 1.0)).sqrt(),
        Measure::TheilsU => {
            let entropy: f64 = xs.values().map(|n| n / total).map(|p| -p * p.ln()).sum();
            let left: f64 =
                pairs.iter().map(|((_, y), &n)| -(n as f64) / total * (n as f64 / ys[y]).ln()).sum();
            (entropy - left) / entropy
        }
    }
}
