//! Counters of what the process did, for `system.events`. Cheap enough for hot loops: every thread adds in a cache line
//! of its own, and only who reads the counters adds them up.

use crate::switches::{self, Switch};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

macro_rules! events {
    ($($name:ident: $description:literal,)*) => {
        /// What is counted, under the kernel's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $(#[doc = $description] $name,)*
        }

        impl Event {
            /// All of them with name and description, in the order of the list.
            pub const ALL: &[(Event, &str, &str)] =
                &[$((Event::$name, stringify!($name), $description),)*];
        }
    };
}

events! {
    Query: "Statements that were understood and begun",
    SelectQuery: "Of these, queries",
    InsertQuery: "Of these, INSERTs",
    FailedQuery: "Statements that ended with an error",
    FailedSelectQuery: "Of these, queries",
    FailedInsertQuery: "Of these, INSERTs",
    QueryTimeMicroseconds: "Time that statements took",
    SelectQueryTimeMicroseconds: "Time that queries took",
    InsertQueryTimeMicroseconds: "Time that INSERTs took",
    SelectedRows: "Rows read from tables",
    SelectedBytes: "Bytes read from tables, as they are in memory",
    InsertedRows: "Rows written to tables",
    ObjectColumnsAssumed: "Columns of Python objects whose type was taken from a sample until a statement named them",
    ObjectColumnsSettled: "Columns of these that a statement named, so that all objects were looked at",
    FileOpen: "Files opened for reading as tables",
    FileMappingsReused: "Files of parts of tables that were mapped still from an earlier query",
    ReadBufferFromFileDescriptorReadBytes: "Bytes of files that were read as tables, compressed where the files are",
    ParquetReadRowGroups: "Row groups of Parquet files that were read",
    ParquetPrunedRowGroups: "Row groups of Parquet files that statistics or the query condition cache excluded",
    ParquetJumpedPages: "Pages of Parquet files that were passed by without a look at them",
    ParquetFullPages: "Pages of Parquet files without a NULL, of columns that may have some",
    MergeTreePrunedParts: "Parts of tables of which statistics excluded all rows",
    FilteringMarksWithSecondaryKeysMicroseconds: "Time in which data skipping indexes were tested",
    PrewhereFilteredRows: "Rows that the first conditions of a filter left out, so that columns of the others were not read of them",
    TopKFilteredRows: "Rows that scans left out because as many as are wanted sort before them",
    ReadInOrder: "Sorts that were not needed because rows were read in the order of a table's key",
    WindowRanges: "Ranges of a partition on disk whose window functions were computed each for itself, by any worker",
    WindowParts: "Parts of partitions of windows that were computed without holding the partition",
    FinalMergedRanges: "Ranges of keys whose rows were merged for FINAL as they were read",
    SkipIndexPrunedRows: "Rows of tables that data skipping indexes excluded",
    ParquetDeltaEncodedColumns: "Columns of row groups of tables that were written as differences",
    MergeTreeJournalRewrites: "Journals of tables that were written anew because most of their records said nothing any more",
    DuplicatedInsertedBlocks: "INSERTs that were done before, by their token or their rows",
    MergeTreeDataProjectionWriterRows: "Rows of projections that were made for parts of tables",
    ProjectionScans: "Reads of tables that were done over the rows of a projection",
    Merge: "Merges of parts that were begun",
    MergedRows: "Rows that merges read",
    ParquetMetadataCacheHits: "Footers of Parquet files that were known from an earlier query",
    ParquetMetadataCacheMisses: "Footers of Parquet files that had to be parsed although the cache was asked",
    ParquetDictionaryCacheHits: "Dictionaries of strings of Parquet files that were known from an earlier query",
    ParquetDictionaryCacheInserts: "Dictionaries that were kept, because few of their values were needed",
    ParquetPartsOfDictionaries: "Dictionaries of strings of Parquet files of which the first values were decoded, because few rows were wanted",
    ParquetMetadataCacheWeightLost: "Bytes of footers that made room for others",
    QueryMemoryLimitExceeded: "How often a query was over its own limit of memory, or its user's",
    GlobalMemoryLimitExceeded: "How often the process was over its limit of memory, or the system had none",
    ExternalSortWritePart: "How often a sort that ran short of memory wrote rows to disk",
    ExternalSortMerge: "Sorts that merged rows from disk",
    ExternalSortCompressedBytes: "Bytes that sorts wrote to disk",
    ExternalSortUncompressedBytes: "Bytes that sorts wrote to disk, before compression",
    ExternalAggregationWritePart: "How often a GROUP BY that ran short of memory wrote groups to disk",
    ExternalAggregationMerge: "GROUP BYs that merged groups from disk",
    ExternalAggregationCompressedBytes: "Bytes that GROUP BY wrote to disk",
    ExternalAggregationUncompressedBytes: "Bytes that GROUP BY wrote to disk, before compression",
    ExternalDistinctWritePart: "How often a DISTINCT, INTERSECT or EXCEPT that ran short of memory wrote rows to disk",
    ExternalDistinctMerge: "Of these operators, those that merged rows from disk",
    ExternalDistinctCompressedBytes: "Bytes that these operators wrote to disk",
    ExternalDistinctUncompressedBytes: "Bytes that these operators wrote to disk, before compression",
    ExternalJoinWritePart: "How often a JOIN that ran short of memory wrote rows of its right side to disk",
    ExternalJoinMerge: "Joins that joined rows from disk",
    ExternalJoinCompressedBytes: "Bytes that joins wrote to disk",
    ExternalJoinUncompressedBytes: "Bytes that joins wrote to disk, before compression",
    ExternalWindowWritePart: "Partitions of windows whose rows were written to disk, until all of them were seen",
    ExternalWindowMerge: "Such partitions that were read back",
    ExternalWindowCompressedBytes: "Bytes that they took on disk",
    ExternalWindowUncompressedBytes: "Bytes that they took on disk, before compression",
    ExternalSharedRowsWritePart: "How often rows that several places of a statement read were written to disk, because memory ran short",
    ExternalSharedRowsMerge: "How often such rows were read back",
    ExternalSharedRowsCompressedBytes: "Bytes that they took on disk",
    ExternalSharedRowsUncompressedBytes: "Bytes that they took on disk, before compression",
    ExternalProcessingFilesTotal: "Temporary files that operators wrote to because they ran short of memory",
    ExternalProcessingCompressedBytesTotal: "Bytes that operators wrote to temporary files",
    ExternalProcessingUncompressedBytesTotal: "Bytes that operators wrote to temporary files, before compression",
    ShiftedSumsRewritten: "Sums of a value and a constant that were made of the sum of the value",
    CommonTablesShared: "Common table expressions that ran once for several places of a statement",
    GroupingSetsOverGroups: "GROUP BYs with several grouping sets that were made of groups by all keys",
    StringsSearchedTogether: "Strings that were searched for a substring as one text with their neighbours in memory",
    CollectorSuspensions: "How often Python's cyclic collector waited while rows were made",
    ArenaFreeListReuses: "Long strings in states of aggregates that took the memory of one that was replaced",
    StringsReadByLength: "Columns of strings of files of which only the lengths were read, as nobody asked for the bytes",
    JoinsToSemiJoins: "Inner joins that became semi joins, because nobody asked how often a row came",
    RemoteGroups: "GROUP BYs and DISTINCTs over tables of servers that the servers began, so that they sent groups instead of rows",
    WindowsOverGroups: "Windows over whole partitions that were computed by grouping and a join, because the partitions have many rows",
    SubqueriesToWindows: "Aggregates of sub-queries that became windows over rows that the query around reads itself",
    EagerAggregations: "Aggregations that were begun before a join",
    AggregationHashTablesInitializedAsTwoLevel: "Workers of GROUP BY and DISTINCT that divided their groups by the hash of the keys, because there were many",
    AggregationRunsInOrder: "Runs of rows that workers of GROUP BY kept apart, to merge their states in the order of rows",
    PartialAggregationRows: "Rows that aggregations in two steps took in the first of them",
    PartialAggregationGroups: "Rows that they put out",
    FrequentKeyValues: "Values of keys that samples found to be frequent in several relations of a join, for the order of joins",
    SampledFilters: "Conditions on joined tables that were tried on a sample of the rows, for the order of joins",
    ParallelJoinBuilds: "Right sides of joins that all workers indexed",
    BlocksGroupedByCodes: "Blocks whose rows found their groups by the codes of several dictionaries",
    SampledTopKThresholds: "Blocks of sorts with a limit of which some rows told which others do not count",
    SortsOfOrderedRows: "Sorts whose rows came in the order that was asked for",
    CountingSorts: "Sorts whose rows were put in order by the values of their keys, because there were few of these",
    ClusteredBlocks: "Blocks of sorts whose rows of one bucket were brought together before they were gathered",
    EntryBounds: "Parts of windows whose partitions and peers were told by sorted entries, without the columns of their keys",
    WideSorts: "Sorts whose entries held all that is compared of their keys, because many rows share the first eight bytes",
    StatisticsAnswers: "Aggregates over whole tables that were answered from what is known of these, without rows being read",
    UnreadColumnsLeftOut: "Columns that joins and sorts did not make, because nobody reads them behind these",
    NarrowJoinCopies: "Columns of right sides of joins that were copied in fewer bytes, because many rows were picked from them",
    DirectJoins: "Joins with dictionaries that look their keys up, instead of reading all rows",
    DirectJoinKeys: "Keys that such joins looked up",
    HugePageTables: "Large tables of joins for which the system was asked for huge pages",
    RuntimeFiltersCreated: "Filters that joins made of the keys of their right sides, for the scans of their left sides",
    RuntimeFilterTrials: "Blocks of which some rows were looked up in the right side, to see whether a filter of very many keys would pay",
    RuntimeFilterBlocksProcessed: "Blocks that such filters tested",
    RuntimeFilterBlocksSkipped: "Blocks that they did not test, because most rows passed before",
    RuntimeFilterRowsChecked: "Rows that such filters tested",
    RuntimeFilterRowsPassed: "Of these, rows that may have a partner",
    RuntimeFilterRowsSkipped: "Rows of the blocks that they did not test",
    QueryConditionCacheHits: "Files of which parts could be left out because an earlier query with the same condition found no row there",
    QueryConditionCacheMisses: "Files of which nothing was known under the condition of the query",
}

const N_EVENTS: usize = Event::ALL.len();

/// More threads than this share counters, which costs time and nothing else.
const N_SHARDS: usize = 32;

/// Two lines of 64 bytes: processors fetch them in pairs.
#[repr(align(128))]
struct Shard([AtomicU64; N_EVENTS]);

static SHARDS: [Shard; N_SHARDS] = [const { Shard([const { AtomicU64::new(0) }; N_EVENTS]) }; N_SHARDS];

thread_local! {
    static MINE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        if switches::is_on(Switch::CounterShards) { number % N_SHARDS } else { 0 }
    };
}

/// Counts `n` of an event.
#[inline]
pub fn add(event: Event, n: u64) {
    // A thread that ends has lost its number already.
    let shard = MINE.try_with(|mine| *mine).unwrap_or(0);
    SHARDS[shard].0[event as usize].fetch_add(n, Relaxed);
}

/// Counts an event once.
#[inline]
pub fn count(event: Event) {
    add(event, 1);
}

/// How many there were since the process began.
pub fn total(event: Event) -> u64 {
    SHARDS.iter().map(|shard| shard.0[event as usize].load(Relaxed)).sum()
}

thread_local! {
    /// What others counted while they worked for what this thread runs.
    static ADOPTED: RefCell<[u64; N_EVENTS]> = const { RefCell::new([0; N_EVENTS]) };
}

/// What was counted until now by and for one thread. Threads that share counters, because there are very many, see each other's.
pub struct Counts([u64; N_EVENTS]);

impl Counts {
    /// Those of the thread that asks.
    pub fn of_this_thread() -> Counts {
        let shard = &SHARDS[MINE.try_with(|mine| *mine).unwrap_or(0)].0;
        Counts(ADOPTED.with_borrow(|adopted| std::array::from_fn(|at| adopted[at] + shard[at].load(Relaxed))))
    }

    /// What was counted since, without the events of which there were none.
    pub fn since(&self) -> Vec<(Event, u64)> {
        let now = Counts::of_this_thread();
        let counted = || now.0.iter().zip(&self.0).map(|(now, before)| now.wrapping_sub(*before));
        let mut found = Vec::with_capacity(counted().filter(|n| *n > 0).count());
        let named = Event::ALL.iter().zip(counted()).filter(|(_, n)| *n > 0);
        found.extend(named.map(|((event, ..), n)| (*event, n)));
        found
    }
}

/// What several threads count for another one.
pub struct Shared([AtomicU64; N_EVENTS]);

impl Default for Shared {
    fn default() -> Shared {
        Shared([const { AtomicU64::new(0) }; N_EVENTS])
    }
}

impl Shared {
    /// Adds what this thread has counted since.
    pub fn add_since(&self, before: &Counts) {
        for (event, n) in before.since() {
            self.0[event as usize].fetch_add(n, Relaxed);
        }
    }

    /// From now on all of it is as if the thread that calls this had counted it.
    pub fn adopt(&self) {
        ADOPTED.with_borrow_mut(|adopted| {
            for (mine, counted) in adopted.iter_mut().zip(&self.0) {
                *mine += counted.swap(0, Relaxed);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let before = total(Event::FileOpen);
        std::thread::scope(|scope| {
            for _ in 0..2 * N_SHARDS {
                scope.spawn(|| (0..100).for_each(|_| count(Event::FileOpen)));
            }
        });
        assert_eq!(total(Event::FileOpen) - before, 200 * N_SHARDS as u64);
    }

    #[test]
    fn a_thread_is_counted_for_by_others() {
        let before = Counts::of_this_thread();
        count(Event::InsertedRows);
        let shared = Shared::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let before = Counts::of_this_thread();
                add(Event::InsertedRows, 5);
                shared.add_since(&before);
            });
        });
        shared.adopt();
        shared.adopt();
        let counted = before.since();
        assert!(counted.iter().any(|(event, n)| *event == Event::InsertedRows && *n >= 6), "{counted:?}");
    }
}
