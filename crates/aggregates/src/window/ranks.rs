//! Numbers of rows and of groups of peers: `row_number`, `rank`, `dense_rank`, `percent_rank`, `cume_dist`, `ntile`.

use crate::window::offset;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Vector;
use chalet_function_api::{
    AggregateRecord, Argument, Context, Example, PartOf, Partitions, Peers, Reach, WindowFunction,
};
use chalet_types::{DataType, Value};
use std::ops::Range;

const ROW_NUMBER: AggregateRecord = AggregateRecord {
    name: "row_number",
    case_insensitive: true,
    summary: "The number of the row in its partition, from 1.",
    syntax: "row_number() OVER (...)",
    examples: &[Example {
        sql: "SELECT row_number() OVER (ORDER BY number DESC) FROM numbers(2) ORDER BY number",
        result: "2\n1",
    }],
    window_only: true,
    ..AggregateRecord::DEFAULT
};

const RANK: AggregateRecord = AggregateRecord {
    name: "rank",
    summary: "One more than the number of rows that sort before the row; equal rows get equal ranks.",
    syntax: "rank() OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(r) FROM (SELECT rank() OVER (ORDER BY intDiv(number, 2)) AS r FROM numbers(4))",
        result: "[1,1,3,3]",
    }],
    ..ROW_NUMBER
};

const DENSE_RANK: AggregateRecord = AggregateRecord {
    name: "denseRank",
    case_insensitive: false,
    any_case_aliases: &["dense_rank"],
    summary: "One more than the number of different rows that sort before the row.",
    syntax: "dense_rank() OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(r) FROM (SELECT dense_rank() OVER (ORDER BY intDiv(number, 2)) AS r FROM numbers(4))",
        result: "[1,1,2,2]",
    }],
    ..ROW_NUMBER
};

const PERCENT_RANK: AggregateRecord = AggregateRecord {
    name: "percentRank",
    case_insensitive: false,
    any_case_aliases: &["percent_rank"],
    summary: "The share of the other rows that sort before the row.",
    syntax: "percent_rank() OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(r) FROM (SELECT percent_rank() OVER (ORDER BY number) AS r FROM numbers(5))",
        result: "[0,0.25,0.5,0.75,1]",
    }],
    ..ROW_NUMBER
};

const CUME_DIST: AggregateRecord = AggregateRecord {
    name: "cume_dist",
    case_insensitive: false,
    summary: "The share of rows that sort before the row or are equal to it.",
    syntax: "cume_dist() OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(r) FROM (SELECT cume_dist() OVER (ORDER BY number) AS r FROM numbers(4))",
        result: "[0.25,0.5,0.75,1]",
    }],
    ..ROW_NUMBER
};

const NTILE: AggregateRecord = AggregateRecord {
    name: "ntile",
    summary: "The number of the row's bucket when the partition is divided into `n` buckets of equal size.",
    syntax: "ntile(n) OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(r) FROM (SELECT ntile(2) OVER (ORDER BY number) AS r FROM numbers(5))",
        result: "[1,1,1,2,2]",
    }],
    ..ROW_NUMBER
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
}

pub struct Rank {
    record: &'static AggregateRecord,
    kind: Kind,
}

impl Rank {
    pub const ALL: [Rank; 6] = [
        Rank { record: &ROW_NUMBER, kind: Kind::RowNumber },
        Rank { record: &RANK, kind: Kind::Rank },
        Rank { record: &DENSE_RANK, kind: Kind::DenseRank },
        Rank { record: &PERCENT_RANK, kind: Kind::PercentRank },
        Rank { record: &CUME_DIST, kind: Kind::CumeDist },
        Rank { record: &NTILE, kind: Kind::Ntile },
    ];
}

impl WindowFunction for Rank {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn result_type(&self, _: &[Value], args: &[Argument], _: &Context) -> Result<DataType> {
        let name = self.record.name;
        match self.kind {
            Kind::Rank | Kind::DenseRank => ensure!(
                args.is_empty(),
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Number of arguments for window function {name} doesn't match: passed {}, should be 0",
                args.len()
            ),
            Kind::Ntile => {
                ensure!(
                    args.len() == 1,
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Function {name} takes exactly one argument"
                );
                let ty = &args[0].ty;
                if !ty.is_unsigned() || ty.physical().width().is_none_or(|w| w > 8) {
                    bail!(
                        BAD_ARGUMENTS,
                        "'{name}' argument type must be an unsigned integer (not larger than 64-bit), got {ty}"
                    );
                }
            }
            _ => {}
        }
        Ok(match self.kind {
            Kind::PercentRank | Kind::CumeDist => DataType::Float64,
            _ => DataType::UInt64,
        })
    }

    fn uses_frames(&self) -> bool {
        false
    }

    fn takes_frame(&self, rows: bool, whole: bool) -> bool {
        match self.kind {
            Kind::RowNumber | Kind::Rank | Kind::DenseRank => true,
            Kind::PercentRank | Kind::CumeDist => !rows && whole,
            Kind::Ntile => rows && whole,
        }
    }

    fn reach(&self, constants: &[Option<Value>]) -> Reach {
        match self.kind {
            Kind::RowNumber => Reach::Place { peers: Peers::Nothing, total: false },
            Kind::Rank => Reach::Place { peers: Peers::Together, total: false },
            Kind::DenseRank => Reach::Place { peers: Peers::Counted, total: false },
            Kind::PercentRank | Kind::CumeDist => Reach::Place { peers: Peers::Together, total: true },
            Kind::Ntile if constants.iter().all(Option::is_some) => {
                Reach::Place { peers: Peers::Nothing, total: true }
            }
            // The number of buckets is that of the partition's first row.
            Kind::Ntile => Reach::Partition,
        }
    }

    fn execute(&self, partitions: &Partitions, _: &[DataType], _: &DataType) -> Result<Vector> {
        Ok(match self.kind {
            Kind::RowNumber => {
                let numbers = partitions.ranges.iter().flat_map(|rows| {
                    let before = partitions.place(rows).rows_before;
                    before as u64 + 1..=(before + rows.len()) as u64
                });
                numbers.collect::<Vec<u64>>().into()
            }
            Kind::Rank => per_peers(partitions, |place| place.rows.start as u64 + 1).into(),
            Kind::DenseRank => per_peers(partitions, |place| place.number as u64 + 1).into(),
            Kind::PercentRank => per_peers(partitions, |place| match place.n_rows {
                1 => 0.0,
                n => place.rows.start as f64 / (n - 1) as f64,
            })
            .into(),
            Kind::CumeDist => {
                per_peers(partitions, |place| place.rows.end as f64 / place.n_rows as f64).into()
            }
            Kind::Ntile => {
                let mut numbers = Vec::with_capacity(partitions.n_rows);
                for rows in partitions.ranges {
                    let buckets = offset(self.record.name, 0, &partitions.args[0], rows.start)?;
                    ensure!(
                        buckets > 0,
                        BAD_ARGUMENTS,
                        "Argument of 'ntile' function must be greater than zero"
                    );
                    let place = partitions.place(rows);
                    let (size, larger) = (place.n_rows / buckets, place.n_rows % buckets);
                    // The first buckets take one row more.
                    let border = larger * (size + 1);
                    numbers.extend((place.rows_before..place.rows_before + rows.len()).map(|row| {
                        let bucket = if row < border {
                            row / (size + 1)
                        } else {
                            larger + (row - border) / size.max(1)
                        };
                        bucket as u64 + 1
                    }));
                }
                numbers.into()
            }
        })
    }
}

/// A group of peers in its partition.
struct Place {
    /// Its rows, counted from the first of the partition.
    rows: Range<usize>,
    /// How many groups are before it.
    number: usize,
    /// The rows of the partition.
    n_rows: usize,
}

/// One value per group of peers, for each of its rows.
fn per_peers<T: Clone>(partitions: &Partitions, value: impl Fn(Place) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(partitions.n_rows);
    let mut all = partitions.peers.iter().peekable();
    for partition in partitions.ranges {
        let PartOf { rows_before, peers_before: mut number, n_rows } = partitions.place(partition);
        while let Some(peers) = all.next_if(|peers| peers.start < partition.end) {
            let rows = [peers.start, peers.end].map(|row| rows_before + row - partition.start);
            values
                .resize(values.len() + peers.len(), value(Place { rows: rows[0]..rows[1], number, n_rows }));
            number += 1;
        }
    }
    values
}
