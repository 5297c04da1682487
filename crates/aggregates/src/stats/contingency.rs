//! How much two columns of categories have to do with each other: `cramersV`, `cramersVBiasCorrected`, `theilsU`,
//! `contingency`.

use crate::check::{no_parameters, two_arguments};
use crate::key_counts::{Counts, TOGETHER};
use crate::uniq::words::Words;
use chalet_base::{Result, ensure};
use chalet_columns::wire::{put_len, take, take_count, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::ops::Range;
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
            // Those of UUIDs are not the kernel's.
            own_states: true,
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
        let keys = [Words::hashed(&args[..1]), Words::hashed(&args[1..])];
        Ok(EachState::of(Pairs { measure: self.measure, keys }))
    }
}

struct Pairs {
    measure: Measure,
    /// Values count by hashes of 64 bits, as in the kernel.
    keys: [Words; 2],
}

/// The different values of one column, numbered, and the rows of each.
#[derive(Default)]
struct Side {
    /// Of each value its number and 1 more.
    numbers: Counts<u64>,
    keys: Vec<u64>,
    counts: Vec<u64>,
}

impl Side {
    /// Adds rows to a value, and gives its number.
    #[inline]
    fn add(&mut self, key: u64, n: u64) -> u32 {
        let number = self.numbers.entry(key);
        if *number == 0 {
            self.keys.push(key);
            self.counts.push(0);
            *number = self.keys.len() as u64;
        }
        let count = &mut self.counts[*number as usize - 1];
        *count = count.wrapping_add(n);
        *number as u32 - 1
    }

    /// Adds rows to values, at most [`TOGETHER`], and calls `f` with the place of each and its number.
    #[inline]
    fn add_all(&mut self, keys: &[u64], n: &[u64], mut f: impl FnMut(usize, u32)) {
        self.numbers.entries(keys, |i, number| {
            if *number == 0 {
                self.keys.push(keys[i]);
                self.counts.push(0);
                *number = self.keys.len() as u64;
            }
            let count = &mut self.counts[*number as usize - 1];
            *count = count.wrapping_add(n[i]);
            f(i, *number as u32 - 1);
        });
    }
}

/// Rows by pair of values.
#[derive(Default)]
struct Table {
    xs: Side,
    ys: Side,
    /// Of each pair its number and 1 more.
    numbers: Counts<u64>,
    /// Numbers of both values, and the rows.
    pairs: Vec<(u32, u32, u64)>,
}

impl Table {
    /// Adds rows of a pair, and gives its number.
    fn add(&mut self, x: u64, y: u64, n: u64) -> u32 {
        let (x, y) = (self.xs.add(x, n), self.ys.add(y, n));
        let number = self.numbers.entry(u64::from(x) << 32 | u64::from(y));
        if *number == 0 {
            self.pairs.push((x, y, 0));
            *number = self.pairs.len() as u64;
        }
        let count = &mut self.pairs[*number as usize - 1].2;
        *count = count.wrapping_add(n);
        *number as u32 - 1
    }

    /// Adds rows of pairs, at most [`TOGETHER`].
    #[inline]
    fn add_all(&mut self, xs: &[u64], ys: &[u64], n: &[u64]) {
        let mut both = [0; TOGETHER];
        self.xs.add_all(xs, n, |i, x| both[i] = u64::from(x) << 32);
        self.ys.add_all(ys, n, |i, y| both[i] |= u64::from(y));
        self.numbers.entries(&both[..n.len()], |i, number| {
            if *number == 0 {
                self.pairs.push(((both[i] >> 32) as u32, both[i] as u32, 0));
                *number = self.pairs.len() as u64;
            }
            let count = &mut self.pairs[*number as usize - 1].2;
            *count = count.wrapping_add(n[i]);
        });
    }

    /// The pairs with their values.
    fn entries(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.pairs.iter().map(|&(x, y, n)| (self.xs.keys[x as usize], self.ys.keys[y as usize], n))
    }

    fn n_rows(&self) -> u64 {
        self.xs.counts.iter().fold(0, |sum, &n| sum.wrapping_add(n))
    }

    /// Chi squared by the number of rows, and 1 more.
    fn squares(&self) -> f64 {
        let share = |&(x, y, n): &(u32, u32, u64)| {
            let (x, y) = (self.xs.counts[x as usize] as f64, self.ys.counts[y as usize] as f64);
            n as f64 * n as f64 / (x * y)
        };
        self.pairs.iter().map(share).sum()
    }

    /// The entropy of the first column, and what is left of it where the second one is known; both negative, as in the kernel, which
    /// has -0 where nothing is known.
    fn entropies(&self) -> (f64, f64) {
        let total = self.n_rows() as f64;
        let all: f64 = self.xs.counts.iter().map(|&n| n as f64 / total).map(|p| p * p.ln()).sum();
        let left = |&(_, y, n): &(u32, u32, u64)| {
            n as f64 / total * (n as f64 / self.ys.counts[y as usize] as f64).ln()
        };
        (all, self.pairs.iter().map(left).sum())
    }
}

impl Pairs {
    fn pair(&self, args: &[Vector], row: usize) -> (u64, u64) {
        let (mut x, mut y) = (0, 0);
        self.keys[0].for_each(&args[..1], row..row + 1, |_, key| x = key);
        self.keys[1].for_each(&args[1..], row..row + 1, |_, key| y = key);
        (x, y)
    }
}

impl RowAggregate for Pairs {
    type State = Table;
    type Input<'a> = &'a [Vector];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> Table {
        Table::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [Vector]> {
        Ok(args)
    }

    fn add(&self, state: &mut Table, args: &&[Vector], row: usize) -> Result<()> {
        let (x, y) = self.pair(args, row);
        state.add(x, y, 1);
        Ok(())
    }

    fn add_rows(&self, state: &mut Table, args: &&[Vector], rows: Range<usize>) -> Result<()> {
        for start in rows.clone().step_by(TOGETHER) {
            let some = start..rows.end.min(start + TOGETHER);
            let (mut xs, mut ys) = ([0; TOGETHER], [0; TOGETHER]);
            self.keys[0].for_each(&args[..1], some.clone(), |row, key| xs[row - start] = key);
            self.keys[1].for_each(&args[1..], some.clone(), |row, key| ys[row - start] = key);
            let n = some.len();
            state.add_all(&xs[..n], &ys[..n], &[1; TOGETHER][..n]);
        }
        Ok(())
    }

    fn running(
        &self,
        state: &mut Table,
        args: &&[Vector],
        from: usize,
        ends: &[usize],
        out: &mut Builder,
    ) -> Result<()> {
        let results = out.natives::<f64>()?;
        let starts = std::iter::once(&from).chain(ends);
        let mut growing = Growing::of(self.measure, state);
        for (&start, &end) in starts.zip(ends) {
            for row in start..end {
                let (x, y) = self.pair(args, row);
                growing.add(state, x, y);
            }
            results.push(growing.measure(state));
        }
        Ok(())
    }

    fn merge(&self, state: &mut Table, other: Table) -> Result<()> {
        let mut entries = other.entries();
        loop {
            let (mut xs, mut ys, mut ns) = ([0; TOGETHER], [0; TOGETHER], [0; TOGETHER]);
            let mut len = 0;
            for (x, y, n) in entries.by_ref().take(TOGETHER) {
                (xs[len], ys[len], ns[len]) = (x, y, n);
                len += 1;
            }
            if len == 0 {
                return Ok(());
            }
            state.add_all(&xs[..len], &ys[..len], &ns[..len]);
        }
    }

    fn serialise(&self, state: &Table, out: &mut Vec<u8>) {
        out.extend(state.n_rows().to_le_bytes());
        for side in [&state.xs, &state.ys] {
            put_len(side.keys.len(), out);
            for (key, n) in side.keys.iter().zip(&side.counts) {
                out.extend(key.to_le_bytes());
                out.extend(n.to_le_bytes());
            }
        }
        put_len(state.pairs.len(), out);
        for (x, y, n) in state.entries() {
            [x, y, n].iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Table> {
        let n_rows = take_u64(bytes)?;
        // What stands by value follows from what stands by pair.
        for _ in 0..2 {
            let n = take_count(bytes, 16)?;
            take(bytes, n * 16)?;
        }
        let mut table = Table::default();
        for _ in 0..take_count(bytes, 24)? {
            table.add(take_u64(bytes)?, take_u64(bytes)?, take_u64(bytes)?);
        }
        ensure!(
            table.n_rows() == n_rows,
            INCORRECT_DATA,
            "Aggregate state counts {n_rows} rows, and others by pair"
        );
        Ok(table)
    }

    fn finish(&self, state: &mut Table, out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(self.measure.of(state));
        Ok(())
    }

    fn heap_memory(&self, state: &Table) -> usize {
        let side =
            |side: &Side| side.numbers.memory() + side.keys.capacity() * 8 + side.counts.capacity() * 8;
        side(&state.xs) + side(&state.ys) + state.numbers.memory() + state.pairs.capacity() * 16
    }
}

impl Measure {
    fn of(self, table: &Table) -> f64 {
        let total = table.n_rows();
        match self {
            _ if total < 2 => f64::NAN,
            Measure::TheilsU => of_entropies(table.entropies()),
            _ => self.of_squares(table.squares(), total, table),
        }
    }

    fn of_squares(self, squares: f64, total: u64, table: &Table) -> f64 {
        let (phi, total) = ((squares - 1.0).max(0.0), total as f64);
        let (rows, columns) = (table.xs.keys.len() as f64, table.ys.keys.len() as f64);
        match self {
            Measure::CramersVBiasCorrected => {
                let freedom = (rows - 1.0) * (columns - 1.0);
                let corrected = phi - freedom / (total - 1.0);
                // What roundings leave of 0 would be infinite where the divisor is 0 too.
                let corrected = if corrected > phi * ROUNDINGS { corrected } else { 0.0 };
                let shrunk = |n: f64| n - (n - 1.0) * (n - 1.0) / (total - 1.0);
                (corrected / (shrunk(rows).min(shrunk(columns)) - 1.0)).sqrt()
            }
            Measure::Contingency => (phi / (phi + 1.0)).sqrt(),
            _ => (phi / (rows.min(columns) - 1.0)).sqrt(),
        }
    }
}

/// One value has no entropy, of which everything is known.
fn of_entropies((all, left): (f64, f64)) -> f64 {
    if all == 0.0 { 0.0 } else { (all - left) / all }
}

/// Of a sum of shares, what its roundings may be.
const ROUNDINGS: f64 = 1e-12;

/// Below this the sum over all pairs is taken anew: what roundings left of chi squared would show in its root.
const SMALL_PHI: f64 = 1e-6;

/// Sums over the pairs of a table to which rows are added one by one, for results after each of them.
struct Growing {
    measure: Measure,
    total: u64,
    sums: Sums,
}

enum Sums {
    Squares(Squares),
    Entropies(Entropies),
}

impl Growing {
    fn of(measure: Measure, table: &Table) -> Growing {
        let sums = match measure {
            Measure::TheilsU => Sums::Entropies(Entropies::of(table)),
            _ => Sums::Squares(Squares::of(table)),
        };
        Growing { measure, total: table.n_rows(), sums }
    }

    fn add(&mut self, table: &mut Table, x: u64, y: u64) {
        let pair = table.add(x, y, 1) as usize;
        self.total += 1;
        match &mut self.sums {
            Sums::Squares(squares) => squares.add(table, pair),
            Sums::Entropies(entropies) => entropies.add(table, pair),
        }
    }

    fn measure(&self, table: &Table) -> f64 {
        match &self.sums {
            _ if self.total < 2 => f64::NAN,
            Sums::Entropies(entropies) => {
                let known = of_entropies(entropies.both(self.total, table));
                if known > 0.0 { known } else { 0.0 }
            }
            Sums::Squares(squares) => {
                let sum = if squares.sum - 1.0 < SMALL_PHI { table.squares() } else { squares.sum };
                self.measure.of_squares(sum, self.total, table)
            }
        }
    }
}

/// The sum of n * n / (x * y) over pairs, n being the rows of the pair, x and y those of its values.
struct Squares {
    sum: f64,
    /// The pairs of each value of the listed side, which is the one with more values: a row changes the shares of its pairs.
    lists: Vec<Vec<u32>>,
    /// For each value of the other side the sum of n * n / the count of the listed value, over its pairs.
    shares: Vec<f64>,
    lists_ys: bool,
}

impl Squares {
    fn of(table: &Table) -> Squares {
        let lists_ys = table.ys.keys.len() >= table.xs.keys.len();
        let mut squares = Squares { sum: table.squares(), lists: Vec::new(), shares: Vec::new(), lists_ys };
        let (listed, other) = squares.sides(table);
        squares.lists.resize(listed.keys.len(), Vec::new());
        squares.shares.resize(other.keys.len(), 0.0);
        for (number, &pair) in table.pairs.iter().enumerate() {
            let (at, to) = squares.places(pair);
            squares.lists[at].push(number as u32);
            squares.shares[to] += pair.2 as f64 * pair.2 as f64 / listed.counts[at] as f64;
        }
        squares
    }

    /// The side with lists, and the other one.
    fn sides<'a>(&self, table: &'a Table) -> (&'a Side, &'a Side) {
        if self.lists_ys { (&table.ys, &table.xs) } else { (&table.xs, &table.ys) }
    }

    /// The numbers of a pair's values on both sides.
    fn places(&self, (x, y, _): (u32, u32, u64)) -> (usize, usize) {
        if self.lists_ys { (y as usize, x as usize) } else { (x as usize, y as usize) }
    }

    /// Takes notice of a row that has been added to a pair.
    fn add(&mut self, table: &Table, number: usize) {
        let pair = table.pairs[number];
        let (at, to) = self.places(pair);
        let (listed, other) = self.sides(table);
        self.lists.resize(listed.keys.len(), Vec::new());
        self.shares.resize(other.keys.len(), 0.0);
        let (n, listed_count, other_count) =
            (pair.2 as f64 - 1.0, listed.counts[at] as f64, other.counts[to] as f64);
        if n == 0.0 {
            self.lists[at].push(number as u32);
        }
        // One more of the listed value: all of its pairs have smaller shares.
        if listed_count > 1.0 {
            let change = 1.0 / listed_count - 1.0 / (listed_count - 1.0);
            for &of_value in &self.lists[at] {
                let (_, to) = self.places(table.pairs[of_value as usize]);
                let own = of_value as usize == number;
                let rows = if own { n } else { table.pairs[of_value as usize].2 as f64 };
                let change = rows * rows * change;
                self.shares[to] += change;
                // The pair's own row is not yet counted on the other side; nor is it a pair before its first row.
                let count = other.counts[to] as f64 - f64::from(u8::from(own));
                if rows > 0.0 {
                    self.sum += change / count;
                }
            }
        }
        // One more of the other value.
        if other_count > 1.0 {
            self.sum += self.shares[to] * (1.0 / other_count - 1.0 / (other_count - 1.0));
        }
        // One more of the pair.
        let more = (2.0 * n + 1.0) / listed_count;
        self.shares[to] += more;
        self.sum += more / other_count;
    }
}

/// Sums of n * ln(n) over counts n.
struct Entropies {
    /// Over the values of the first column.
    xs: f64,
    /// Over the values of the second column, less those over pairs: 0 where each value of the second tells the first.
    left: f64,
}

impl Entropies {
    fn of(table: &Table) -> Entropies {
        let left =
            |&(_, y, n): &(u32, u32, u64)| n as f64 * (table.ys.counts[y as usize] as f64 / n as f64).ln();
        Entropies {
            xs: table.xs.counts.iter().map(|&n| n as f64 * (n as f64).ln()).sum(),
            left: table.pairs.iter().map(left).sum(),
        }
    }

    /// Takes notice of a row that has been added to a pair.
    fn add(&mut self, table: &Table, pair: usize) {
        /// What n * ln(n) is more than it was for one less.
        fn more(n: u64) -> f64 {
            let n = n as f64;
            if n > 1.0 { n * n.ln() - (n - 1.0) * (n - 1.0).ln() } else { 0.0 }
        }
        let (x, y, n) = table.pairs[pair];
        self.xs += more(table.xs.counts[x as usize]);
        // Equal counts cancel out without a rest.
        self.left += more(table.ys.counts[y as usize]) - more(n);
    }

    fn both(&self, total: u64, table: &Table) -> (f64, f64) {
        let total = total as f64;
        let all = if table.xs.keys.len() == 1 { 0.0 } else { total.ln() - self.xs / total };
        (all, self.left / total)
    }
}
