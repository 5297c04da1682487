//! What one statement runs with, as data: its database, settings, limits, how it is interrupted. Registries of tables and
//! functions take it; `environment` makes of it what the binder asks for.

use crate::caller::Caller;
use crate::database::Database;
use crate::inserted_rows::InsertedRows;
use crate::own_functions::{OwnHost, SessionView};
use crate::replacement_scan::ReplacementScan;
use crate::run_options::RunOptions;
use crate::session_state::{Identity, SessionState};
use crate::settings::Settings;
use chalet_base::Result;
use chalet_binder::{BinderSettings, BoundQuery, Environment};
use chalet_exec::control::OnProgress;
use chalet_exec::operators::shared_rows::SharedPlans;
use chalet_exec::{ExecContext, Overflow, QueryControl};
use chalet_formats::FormatSettings;
use chalet_function_api::{Context, Host, Interrupt, Registry, Shared};
use chalet_optimizer::CommonTables;
use chalet_plan::{IdSource, ScanLimits};
use chalet_storage::{ColumnSchema, Entry, Held, ScanContext, Table};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// Cheap to clone: what is large is shared.
#[derive(Clone)]
pub(crate) struct QueryContext {
    pub database: Database,
    pub state: SessionState,
    pub ids: Arc<IdSource>,
    /// What its queries share.
    pub common_tables: Arc<CommonTables>,
    pub control: Arc<QueryControl>,
    pub formats: Arc<FormatSettings>,
    /// Functions, as they were when the statement began.
    pub registry: Arc<Registry>,
    /// What functions see.
    pub functions: Arc<Context>,
    pub binder: Arc<BinderSettings>,
    pub exec: ExecContext,
    /// Query parameters that came with the statement.
    pub params: Vec<(String, String)>,
    /// The id that the caller chose for it.
    pub chosen_id: Option<String>,
    interrupt: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    pub replacement_scan: Option<Arc<dyn ReplacementScan>>,
    /// The client of a server that asks.
    pub caller: Option<Arc<Caller>>,
    on_progress: Option<OnProgress>,
    /// What stays readable until the statement ends, whatever another process does.
    pub held: Arc<Mutex<Vec<Held>>>,
    /// What a materialized view finds in the table that it reads.
    pub inserted: Option<Arc<InsertedRows>>,
    /// Of a sub-query with settings of its own: how much may be read of its tables.
    pub scan_limits: Option<Arc<ScanLimits>>,
}

impl QueryContext {
    pub fn new(
        database: Database,
        state: SessionState,
        options: &RunOptions,
        number: u64,
    ) -> Result<QueryContext> {
        let settings = &state.settings;
        let effective = settings.effective()?;
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let interrupt = options.interrupt.clone();
        let asked = interrupt.clone();
        let hook = asked.map(|f| Box::new(move || f()) as Box<dyn Fn() -> bool + Send + Sync>);
        let user = state.memory.clone();
        user.set_limit(settings.number("max_memory_usage_for_user").unwrap_or(0));
        let control = QueryControl::new(effective.limits.clone(), hook, Some(user));
        let period_us = settings.number("interactive_delay").unwrap_or(0);
        let control = control.with_progress(options.on_progress.clone(), period_us);
        let control = Arc::new(control.with_killed(options.killed.clone().unwrap_or_default()));
        let functions = Arc::new(Context {
            time_zone: effective.time_zone.clone(),
            start_ns: start.as_nanos() as i64,
            database: state.database.clone(),
            user: state.identity.user.to_string(),
            query_id: options.query_id.clone().unwrap_or_else(|| {
                let process = std::process::id() & 0xffff;
                format!("{:08x}-{process:04x}-{number:012x}", start.as_secs() as u32)
            }),
            interrupt: Interrupt(Some(interrupt_of(control.clone()))),
            settings: effective.functions.clone(),
            host: Host(Some(Arc::new(OwnHost(Box::new(OwnView {
                database: database.clone(),
                state: state.clone(),
            }))))),
            shared: Shared::default(),
        });
        let exec_settings = effective.exec.clone();
        let scan = ScanContext {
            max_block_size: exec_settings.max_block_size,
            max_threads: exec_settings.max_threads,
            use_query_condition_cache: settings.flag("use_query_condition_cache").unwrap_or(true),
            use_dictionary_cache: settings.flag("chalet_use_dictionary_cache").unwrap_or(true),
            conditions_under: effective.changes.clone(),
            progress: control.files.clone(),
        };
        let exec = ExecContext {
            control: control.clone(),
            functions: functions.clone(),
            settings: exec_settings,
            scan,
            shared: SharedPlans::default(),
            notes: None,
        };
        Ok(QueryContext {
            formats: state.formats(&effective),
            binder: effective.binder.clone(),
            database,
            ids: Arc::default(),
            common_tables: Arc::default(),
            control,
            functions,
            exec,
            params: options.params.clone(),
            chosen_id: options.query_id.clone(),
            interrupt,
            replacement_scan: options.replacement_scan.clone(),
            caller: options.caller.clone(),
            on_progress: options.on_progress.clone(),
            registry: crate::functions::registry(),
            held: Arc::default(),
            inserted: None,
            scan_limits: None,
            state,
        })
    }

    /// The columns of a query as those of a table.
    pub fn columns_of(&self, bound: &BoundQuery) -> Vec<ColumnSchema> {
        let fields = bound.fields.iter();
        fields.map(|field| ColumnSchema::showing(field.name.clone(), self.ids.shown_type(field))).collect()
    }

    /// The same with other settings: SETTINGS of a statement.
    pub fn with_settings(&self, settings: Settings) -> Result<QueryContext> {
        let state = SessionState { settings, ..self.state.clone() };
        let options = RunOptions {
            params: self.params.clone(),
            interrupt: self.interrupt.clone(),
            replacement_scan: self.replacement_scan.clone(),
            on_progress: self.on_progress.clone(),
            query_id: Some(self.functions.query_id.clone()),
            killed: Some(self.control.killed().clone()),
            ..RunOptions::default()
        };
        QueryContext::new(self.database.clone(), state, &options, 0)
    }

    /// The same in another database: a backup.
    pub fn in_database(&self, database: Database) -> QueryContext {
        QueryContext { database, ..self.clone() }
    }

    /// The same with the settings of a sub-query, which is still part of this statement.
    pub fn of_subquery(&self, settings: Settings) -> Result<QueryContext> {
        let limits = settings.effective()?.limits.clone();
        let mut ctx = self.with_settings(settings)?;
        ctx.functions = Arc::new(Context {
            start_ns: self.functions.start_ns,
            query_id: self.functions.query_id.clone(),
            interrupt: self.functions.interrupt.clone(),
            shared: self.functions.shared.clone(),
            ..Context::clone(&ctx.functions)
        });
        ctx.ids = self.ids.clone();
        ctx.control = self.control.clone();
        ctx.exec.control = self.control.clone();
        ctx.exec.functions = ctx.functions.clone();
        ctx.exec.scan.progress = self.control.files.clone();
        ctx.held = self.held.clone();
        ctx.inserted = self.inserted.clone();
        ctx.scan_limits = Some(Arc::new(ScanLimits {
            max_block_size: ctx.exec.settings.max_block_size,
            max_rows_to_read: limits.max_rows_to_read,
            max_bytes_to_read: limits.max_bytes_to_read,
            breaks: limits.read_overflow == Overflow::Break,
        }));
        Ok(ctx)
    }

    /// For what is bound once for all statements and outlives them, such as the keys of a table: its expressions mean the same under
    /// all settings, and read neither tables nor files.
    pub fn of_definition() -> Result<QueryContext> {
        let state = SessionState::new(Identity::of_user("default".into()));
        QueryContext::new(Database::default(), state, &RunOptions::default(), 0)
    }

    /// The path that a statement means by one that it names, where its user may use it.
    pub fn user_path<'a>(&self, written: &'a str) -> Result<Cow<'a, str>> {
        self.state.identity.files.path(written, &self.state.identity.user)
    }

    /// A table as it was made, but for those of system: a temporary one where no database is named, else a kept one.
    pub fn entry(&self, database: Option<&str>, name: &str) -> Option<Entry> {
        let temporary = self.state.temporary.get(name).filter(|_| database.is_none());
        let database = database.unwrap_or(&self.state.database);
        temporary.cloned().or_else(|| self.database.shared.catalog.find(database, name))
    }
}

/// What functions of the engine's own see: a session like the statement's.
struct OwnView {
    database: Database,
    state: SessionState,
}

impl SessionView for OwnView {
    fn format_settings(&self) -> Result<Arc<FormatSettings>> {
        Ok(self.state.formats(&*self.state.settings.effective()?))
    }

    fn user_path(&self, written: &str) -> Result<String> {
        let identity = &self.state.identity;
        Ok(identity.files.path(written, &identity.user)?.into_owned())
    }

    fn folder(&self) -> PathBuf {
        let store = self.database.shared.catalog.store();
        store.map_or_else(|| ".".into(), |store| store.root().to_path_buf())
    }

    fn table(&self, database: &str, name: &str) -> Result<Arc<dyn Table>> {
        let ctx = QueryContext::new(self.database.clone(), self.state.clone(), &RunOptions::default(), 0)?;
        match Environment::table(&ctx, Some(database), name)? {
            Some((table, _)) => Ok(table),
            None => Err(ctx.unknown_table(Some(database), name)),
        }
    }
}

/// What functions ask that take long on purpose. Only the thread that runs the statement may ask the host.
fn interrupt_of(control: Arc<QueryControl>) -> Arc<dyn Fn() -> Result<()> + Send + Sync> {
    let host = std::thread::current().id();
    Arc::new(move || {
        if std::thread::current().id() == host { control.check_with_interrupt() } else { control.check() }
    })
}
