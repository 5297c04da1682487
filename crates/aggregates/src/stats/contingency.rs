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

/// The different values of one column, numbered, and the rows of each.
#[derive(Default)]
struct Side {
    numbers: HashMap<u128, u32>,
    keys: Vec<u128>,
    counts: Vec<u64>,
}

impl Side {
    fn add(&mut self, key: u128, n: u64) -> u32 {
        let number = *self.numbers.entry(key).or_insert(self.keys.len() as u32);
        if number as usize == self.keys.len() {
            self.keys.push(key);
            self.counts.push(0);
        }
        self.counts[number as usize] += n;
        number
    }
}

/// Rows by pair of values. Sums over pairs are taken again for every result of a window: they look up no hash.
#[derive(Default)]
struct Table {
    xs: Side,
    ys: Side,
    numbers: HashMap<u64, u32>,
    /// Numbers of both values, and the rows.
    pairs: Vec<(u32, u32, u64)>,
}

impl Table {
    fn add(&mut self, x: u128, y: u128, n: u64) {
        let (x, y) = (self.xs.add(x, n), self.ys.add(y, n));
        let number =
            *self.numbers.entry(u64::from(x) << 32 | u64::from(y)).or_insert(self.pairs.len() as u32);
        match self.pairs.get_mut(number as usize) {
            Some((.., rows)) => *rows += n,
            None => self.pairs.push((x, y, n)),
        }
    }

    /// The pairs with their values.
    fn entries(&self) -> impl Iterator<Item = (u128, u128, u64)> {
        self.pairs.iter().map(|&(x, y, n)| (self.xs.keys[x as usize], self.ys.keys[y as usize], n))
    }
}

impl RowAggregate for Pairs {
    type State = Table;
    type Input<'a> = &'a [Vector];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> Self::State {
        Table::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [Vector]> {
        Ok(args)
    }

    fn add(&self, state: &mut Self::State, args: &&[Vector], row: usize) -> Result<()> {
        let (mut x, mut y) = (0, 0);
        self.keys[0].for_each(&args[..1], row..row + 1, |_, key| x = key);
        self.keys[1].for_each(&args[1..], row..row + 1, |_, key| y = key);
        state.add(x, y, 1);
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()> {
        other.entries().for_each(|(x, y, n)| state.add(x, y, n));
        Ok(())
    }

    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>) {
        put_len(state.pairs.len(), out);
        for (x, y, n) in state.entries() {
            out.extend(x.to_le_bytes());
            out.extend(y.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let n = take_count(bytes, 40)?;
        let key = |bytes: &mut &[u8]| Ok(u128::from_le_bytes(take_array(bytes)?));
        let mut table = Table::default();
        for _ in 0..n {
            table.add(key(bytes)?, key(bytes)?, take_u64(bytes)?);
        }
        Ok(table)
    }

    fn finish(&self, state: &mut Self::State, out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(measure(self.measure, state));
        Ok(())
    }

    fn heap_memory(&self, state: &Self::State) -> usize {
        let side = |side: &Side| {
            side.numbers.capacity() * 33 + side.keys.capacity() * 16 + side.counts.capacity() * 8
        };
        side(&state.xs) + side(&state.ys) + state.numbers.capacity() * 17 + state.pairs.capacity() * 16
    }
}

fn measure(measure: Measure, Table { xs, ys, pairs, .. }: &Table) -> f64 {
    let (xs, ys) = (&xs.counts, &ys.counts);
    let total = xs.iter().sum::<u64>() as f64;
    if total < 2.0 {
        return f64::NAN;
    }
    // Chi squared by the number of rows.
    let phi = pairs.iter().map(|&(x, y, n)| {
        let (n, x, y) = (n as f64, xs[x as usize] as f64, ys[y as usize] as f64);
        n * n / (x * y)
    });
    let phi = phi.sum::<f64>() - 1.0;
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
            let entropy: f64 = xs.iter().map(|&n| n as f64 / total).map(|p| -p * p.ln()).sum();
            let left =
                pairs.iter().map(|&(_, y, n)| -(n as f64) / total * (n as f64 / ys[y as usize] as f64).ln());
            (entropy - left.sum::<f64>()) / entropy
        }
    }
}
