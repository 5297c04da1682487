//! What a statement has done so far, as clients are told.

use chalet_engine::{Progress, Summary};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Written by the statement, read by who answers the client.
pub struct Tally {
    started: Instant,
    read_rows: AtomicU64,
    read_bytes: AtomicU64,
    total_rows: AtomicU64,
    written_rows: AtomicU64,
    written_bytes: AtomicU64,
    result_rows: AtomicU64,
    result_bytes: AtomicU64,
    memory: AtomicU64,
}

impl Tally {
    pub fn begin() -> Tally {
        Tally {
            started: Instant::now(),
            read_rows: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            total_rows: AtomicU64::new(0),
            written_rows: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            result_rows: AtomicU64::new(0),
            result_bytes: AtomicU64::new(0),
            memory: AtomicU64::new(0),
        }
    }

    pub fn on_progress(&self, progress: &Progress) {
        self.read_rows.fetch_max(progress.read_rows, Relaxed);
        self.read_bytes.fetch_max(progress.read_bytes, Relaxed);
        self.total_rows.fetch_max(progress.total_rows, Relaxed);
        self.written_rows.fetch_max(progress.written_rows, Relaxed);
        self.written_bytes.fetch_max(progress.written_bytes, Relaxed);
    }

    pub fn add_result(&self, rows: u64, bytes: u64) {
        self.result_rows.fetch_add(rows, Relaxed);
        self.result_bytes.fetch_add(bytes, Relaxed);
    }

    pub fn end(&self, summary: &Summary) {
        self.read_rows.fetch_max(summary.rows_read, Relaxed);
        self.read_bytes.fetch_max(summary.bytes_read, Relaxed);
        self.written_rows.fetch_max(summary.rows_written, Relaxed);
        self.written_bytes.fetch_max(summary.bytes_written, Relaxed);
        if summary.rows_written > 0 {
            self.result_rows.store(summary.rows_written, Relaxed);
            self.result_bytes.store(summary.bytes_written, Relaxed);
        }
        self.memory.store(summary.peak_memory, Relaxed);
    }

    /// As `X-ClickHouse-Summary` has it: all numbers in quotes.
    pub fn to_json(&self) -> String {
        let fields = [
            ("read_rows", &self.read_rows),
            ("read_bytes", &self.read_bytes),
            ("written_rows", &self.written_rows),
            ("written_bytes", &self.written_bytes),
            ("total_rows_to_read", &self.total_rows),
            ("result_rows", &self.result_rows),
            ("result_bytes", &self.result_bytes),
        ];
        let fields = fields.map(|(name, n)| format!("\"{name}\":\"{}\"", n.load(Relaxed)));
        let elapsed = self.started.elapsed().as_nanos();
        let memory = self.memory.load(Relaxed);
        format!("{{{},\"elapsed_ns\":\"{elapsed}\",\"memory_usage\":\"{memory}\"}}", fields.join(","))
    }
}
