//! One session: its settings, current database and temporary tables. Statements run one after the other.

use crate::answer::Answer;
use crate::database::Database;
use crate::outside::Outside;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::statements;
use chalet_base::Result;
use chalet_storage::catalog::Entry;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Usable from any thread; statements of one session do not overlap.
pub struct Session {
    database: Database,
    state: Mutex<State>,
    /// Held while statements run.
    running: Mutex<()>,
}

/// What statements change.
#[derive(Clone)]
pub(crate) struct State {
    pub settings: Settings,
    pub database: String,
    pub temporary: BTreeMap<String, Entry>,
    /// Query parameters, by `SET param_name`.
    pub params: BTreeMap<String, String>,
}

/// Asked between blocks whether the statement should stop; on the thread that runs it.
pub type Interrupt = Box<dyn Fn() -> bool + Send + Sync>;

/// How to run statements.
#[derive(Default)]
pub struct RunOptions {
    /// The format of results that name none; without it rows are kept as columns.
    pub format: Option<String>,
    /// Values of `{name:Type}`, as text.
    pub params: Vec<(String, String)>,
    pub interrupt: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Tables that the caller lends.
    pub outside: Option<Arc<dyn Outside>>,
    /// Settings of these statements only.
    pub settings: Vec<(String, String)>,
}

static NEXT_QUERY: AtomicU64 = AtomicU64::new(1);

impl Session {
    pub(crate) fn new(database: Database) -> Session {
        let state = State {
            settings: Settings::default(),
            database: "default".into(),
            temporary: BTreeMap::new(),
            params: BTreeMap::new(),
        };
        Session { database, state: Mutex::new(state), running: Mutex::new(()) }
    }

    /// Runs one or more statements. The first that fails ends the run; what those before it did stays done.
    pub fn run(&self, sql: &str, options: RunOptions) -> Result<Answer> {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let parsed = chalet_syntax::parse_statements(sql)?;
        let mut output = statements::Output::new(&options);
        for statement in parsed {
            let scope = Arc::new(self.scope(&options)?);
            statements::run(&statement, sql, &scope, self, &mut output)?;
        }
        Ok(output.into_answer(started.elapsed()))
    }

    fn scope(&self, options: &RunOptions) -> Result<Scope> {
        let mut state = self.state().clone();
        for (name, value) in &options.settings {
            state.settings.set(name, value)?;
        }
        let number = NEXT_QUERY.fetch_add(1, Relaxed);
        Scope::new(self.database.clone(), state, options, number)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
