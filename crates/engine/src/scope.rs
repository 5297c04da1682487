//! One statement's view of session and database: what the binder asks, and how plans are run.

use crate::database::Database;
use crate::own_functions::OwnHost;
use crate::replacement_query::{ReplacementQuery, ReplacementQueryScope};
use crate::replacement_scan::ReplacementScan;
use crate::session::{RunOptions, State};
use crate::settings::Settings;
use crate::{on_disk, system, table_functions};
use chalet_base::{Result, codes, err};
use chalet_binder::{BinderSettings, Environment, MaybeOwned, TableArgument};
use chalet_columns::Block;
use chalet_exec::control::OnProgress;
use chalet_exec::{ExecContext, Overflow, QueryControl};
use chalet_formats::FormatSettings;
use chalet_function_api::{Context, Host, Interrupt, Registry};
use chalet_plan::{IdSource, Plan, ScanLimits};
use chalet_storage::disk::BrokenTable;
use chalet_storage::{Entry, Held, ScanContext, Table};
use chalet_syntax::ast;
use chalet_types::{DataType, Value};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct Scope {
    pub database: Database,
    pub state: State,
    pub ids: IdSource,
    pub control: Arc<QueryControl>,
    pub formats: Arc<FormatSettings>,
    /// Functions, as they were when the statement began.
    registry: Arc<Registry>,
    context: Arc<Context>,
    binder: BinderSettings,
    exec: ExecContext,
    params: Vec<(String, String)>,
    interrupt: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    pub replacement_scan: Option<Arc<dyn ReplacementScan>>,
    on_progress: Option<OnProgress>,
    /// What stays readable until the statement ends, whatever another process does.
    held: Arc<Mutex<Vec<Held>>>,
    /// Of a sub-query with settings of its own: how much may be read of its tables.
    scan_limits: Option<Arc<ScanLimits>>,
}

impl Scope {
    pub fn new(database: Database, state: State, options: &RunOptions, number: u64) -> Result<Scope> {
        let settings = &state.settings;
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let interrupt = options.interrupt.clone();
        let asked = interrupt.clone();
        let hook = asked.map(|f| Box::new(move || f()) as Box<dyn Fn() -> bool + Send + Sync>);
        let user = state.memory.clone();
        user.set_limit(settings.number("max_memory_usage_for_user").unwrap_or(0));
        let control = QueryControl::new(settings.for_limits(), hook, Some(user));
        let control = Arc::new(control.with_progress(options.on_progress.clone()));
        let context = Arc::new(Context {
            time_zone: settings.time_zone()?,
            start_ns: start.as_nanos() as i64,
            database: state.database.clone(),
            user: "default".into(),
            query_id: format!(
                "{:08x}-{:04x}-{number:012x}",
                start.as_secs() as u32,
                std::process::id() & 0xffff
            ),
            interrupt: Interrupt(Some(interrupt_of(control.clone()))),
            settings: settings.for_functions(),
            host: Host(Some(Arc::new(OwnHost { database: database.clone(), state: state.clone() }))),
        });
        let exec_settings = settings.for_exec();
        let all = settings.clone();
        let scan = ScanContext {
            max_block_size: exec_settings.max_block_size,
            max_threads: exec_settings.max_threads,
            setting: Arc::new(move |name| all.get(name)),
            conditions_under: conditions_under(settings, context.time_zone.name()),
            progress: control.files.clone(),
        };
        let exec = ExecContext {
            control: control.clone(),
            functions: context.clone(),
            settings: exec_settings,
            scan,
        };
        Ok(Scope {
            formats: settings.for_formats()?,
            binder: settings.for_binder(),
            database,
            ids: IdSource::default(),
            control,
            context,
            exec,
            params: options.params.clone(),
            interrupt,
            replacement_scan: options.replacement_scan.clone(),
            on_progress: options.on_progress.clone(),
            registry: crate::functions::registry(),
            held: Arc::default(),
            scan_limits: None,
            state,
        })
    }

    /// The same with other settings: SETTINGS of a statement.
    pub fn with_settings(&self, settings: Settings) -> Result<Scope> {
        let state = State { settings, ..self.state.clone() };
        let options = RunOptions {
            params: self.params.clone(),
            interrupt: self.interrupt.clone(),
            replacement_scan: self.replacement_scan.clone(),
            on_progress: self.on_progress.clone(),
            ..RunOptions::default()
        };
        Scope::new(self.database.clone(), state, &options, 0)
    }

    /// The same with SETTINGS of a sub-query, which is still part of this statement.
    pub fn of_subquery(&self, written: &[ast::Setting]) -> Result<Scope> {
        let mut settings = self.state.settings.clone();
        for setting in written {
            crate::statements::set::apply(setting, &mut settings, self)?;
        }
        let limits = settings.for_limits();
        let mut scope = self.with_settings(settings)?;
        scope.context = Arc::new(Context {
            start_ns: self.context.start_ns,
            query_id: self.context.query_id.clone(),
            interrupt: self.context.interrupt.clone(),
            ..Context::clone(&scope.context)
        });
        scope.control = self.control.clone();
        scope.exec.control = self.control.clone();
        scope.exec.functions = scope.context.clone();
        scope.exec.scan.progress = self.control.files.clone();
        scope.held = self.held.clone();
        scope.scan_limits = Some(Arc::new(ScanLimits {
            max_block_size: scope.exec.settings.max_block_size,
            max_rows_to_read: limits.max_rows_to_read,
            max_bytes_to_read: limits.max_bytes_to_read,
            breaks: limits.read_overflow == Overflow::Break,
        }));
        Ok(scope)
    }

    /// Query parameters that came with the statement.
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }

    pub fn exec(&self) -> &ExecContext {
        &self.exec
    }

    pub fn optimize(&self, plan: Plan) -> Result<Plan> {
        let settings = &self.state.settings;
        let all_off = settings.flag("query_plan_enable_optimizations") == Some(false);
        let most_fetched_rows = settings.number("query_plan_max_limit_for_lazy_materialization");
        let with = chalet_optimizer::Rewriter {
            ids: &self.ids,
            context: &self.context,
            cast: &|expr, ty| chalet_binder::cast(self, expr, ty),
            // 0: however many.
            most_fetched_rows: most_fetched_rows.filter(|&n| n > 0).unwrap_or(u64::MAX),
        };
        let is_off = |rule: &str| all_off || is_rule_off(settings, rule);
        let plan = chalet_optimizer::optimize(plan, &with, &is_off, &|| self.control.check(), None)?;
        if let Some(most) = settings.number("max_columns_to_read").filter(|&n| n > 0) {
            check_columns(&plan, most, 0)?;
        }
        Ok(plan)
    }

    /// A table by its written name, temporary tables first.
    pub fn find(&self, database: Option<&str>, name: &str) -> Result<Option<(Arc<dyn Table>, Arc<str>)>> {
        let is_temporary = database.is_none() && self.state.temporary.contains_key(name);
        let shown = database.unwrap_or(&self.state.database);
        if !is_temporary && system::is_system(shown) {
            let found = system::table(name, self)?;
            return Ok(found.map(|table| (table, format!("system.{name}").into())));
        }
        Ok(self.held_table(database, name)?.map(|table| {
            let shown = if is_temporary { name.into() } else { format!("{shown}.{name}").into() };
            (table, shown)
        }))
    }

    /// A table that can be read until the statement ends.
    fn held_table(&self, database: Option<&str>, name: &str) -> Result<Option<Arc<dyn Table>>> {
        let mut gone: Option<Arc<dyn Table>> = None;
        loop {
            let Some(Entry { table, .. }) = self.entry(database, name) else { return Ok(None) };
            if let Some(broken) = table.as_any().downcast_ref::<BrokenTable>() {
                return Err(broken.error.clone());
            }
            match table.hold() {
                Ok(held) => self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(held),
                // Another process has dropped or replaced it since the statement began.
                Err(error)
                    if error.code() == codes::FILE_DOESNT_EXIST
                        && !gone.is_some_and(|gone| Arc::ptr_eq(&gone, &table)) =>
                {
                    on_disk::refresh(&self.database)?;
                    gone = Some(table);
                    continue;
                }
                // Is told when rows are asked for.
                Err(_) => {}
            }
            return Ok(Some(table));
        }
    }

    /// A table as it was made, but for those of system: a temporary one where no database is named, else a kept one.
    pub fn entry(&self, database: Option<&str>, name: &str) -> Option<Entry> {
        let temporary = self.state.temporary.get(name).filter(|_| database.is_none());
        let database = database.unwrap_or(&self.state.database);
        temporary.cloned().or_else(|| self.database.shared.catalog.find(database, name))
    }
}

impl Scope {
    /// A table of the session, or one that the caller lends.
    pub(crate) fn find_with(
        &self,
        replacement_scan: Option<&dyn ReplacementScan>,
        database: Option<&str>,
        name: &str,
    ) -> Result<Option<(Arc<dyn Table>, Arc<str>)>> {
        let Some(replacement_scan) = replacement_scan.filter(|_| database.is_none()) else {
            return self.find(database, name);
        };
        let named = |table: Arc<dyn Table>| (table, Arc::<str>::from(name));
        if let Some(given) = replacement_scan.given(name)? {
            return Ok(Some(named(given)));
        }
        match self.find(None, name)? {
            Some(found) => Ok(Some(found)),
            None => Ok(replacement_scan.found(name)?.map(named)),
        }
    }
}

/// See [`ScanContext::conditions_under`]. All changed settings: which of them a function looks at, it alone knows.
fn conditions_under(settings: &Settings, time_zone: &str) -> Arc<str> {
    let mut text = format!("|{time_zone}");
    for (name, value) in settings.changed() {
        text.push_str(&format!("|{name}={value:?}"));
    }
    text.into()
}

/// What functions ask that take long on purpose. Only the thread that runs the statement may ask the host.
fn interrupt_of(control: Arc<QueryControl>) -> Arc<dyn Fn() -> Result<()> + Send + Sync> {
    let host = std::thread::current().id();
    Arc::new(move || {
        if std::thread::current().id() == host { control.check_with_interrupt() } else { control.check() }
    })
}

/// `max_columns_to_read`.
/// `fetched`: columns of the tables below that are read later.
fn check_columns(plan: &Plan, most: u64, fetched: usize) -> Result<()> {
    let fetched = fetched + if let Plan::Fetch(fetch) = plan { fetch.columns.len() } else { 0 };
    if let Plan::Scan(scan) = plan {
        let n = (scan.columns.len() + fetched) as u64;
        chalet_base::ensure!(
            n <= most,
            TOO_MANY_COLUMNS,
            "Limit for number of columns to read exceeded. Requested: {n}, maximum: {most}"
        );
    }
    plan.inputs().into_iter().try_for_each(|input| check_columns(input, most, fetched))
}

/// The settings that switch rules off, by the kernel's names.
fn is_rule_off(settings: &Settings, rule: &str) -> bool {
    let switch = match rule {
        "push_down_filter" => "query_plan_filter_push_down",
        "cross_join_to_inner" => {
            return settings.number("cross_to_inner_join_rewrite") == Some(0);
        }
        "fold_empty_inputs" => "query_plan_short_circuit_constant_false_join",
        "remove_constant_keys" => "query_plan_remove_redundant_sorting",
        "push_down_limit" => "query_plan_push_down_limit",
        "merge_projections" => "query_plan_merge_expressions",
        "prune_columns" => "query_plan_remove_unused_columns",
        "late_materialization" => {
            // The one for tables of the kernel's own engines, and the one for files.
            let of_files = "query_plan_optimize_lazy_materialization_for_file";
            return [of_files, "query_plan_optimize_lazy_materialization"]
                .iter()
                .any(|switch| settings.flag(switch) == Some(false));
        }
        "sum_of_shifted" => "optimize_arithmetic_operations_in_aggregate_functions",
        "reduce_group_keys" => "optimize_group_by_function_keys",
        // The groups of the first step would count against the limit.
        "single_distinct_to_group_by" => {
            return settings.number("max_rows_to_group_by").is_some_and(|most| most > 0);
        }
        _ => return false,
    };
    settings.flag(switch) == Some(false)
}

impl Environment for Scope {
    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn context(&self) -> &Arc<Context> {
        &self.context
    }

    fn settings(&self) -> &BinderSettings {
        &self.binder
    }

    fn table(&self, database: Option<&str>, name: &str) -> Result<Option<(Arc<dyn Table>, Arc<str>)>> {
        self.find_with(self.replacement_scan.as_deref(), database, name)
    }

    fn unknown_table(&self, database: Option<&str>, name: &str) -> chalet_base::Error {
        let shown = match database {
            Some(database) => format!("{database}.{name}"),
            None => name.to_string(),
        };
        let database = database.unwrap_or(&self.state.database);
        if !self.database.shared.catalog.database_exists(database) && !system::is_system(database) {
            return err!(UNKNOWN_DATABASE, "Database {database} does not exist");
        }
        let names: Vec<String> = match self.database.shared.catalog.tables(database) {
            Ok(tables) => tables.into_iter().map(|(name, _)| name).collect(),
            Err(_) => Vec::new(),
        };
        let hint = self.replacement_scan.as_ref().and_then(|replacement_scan| replacement_scan.hint(name));
        let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
        match chalet_base::suggest::nearest(name, names.iter().map(String::as_str), 1).first() {
            Some(near) => err!(
                UNKNOWN_TABLE,
                "Unknown table expression identifier '{shown}'. Maybe you meant: '{near}'?{hint}"
            ),
            None => err!(UNKNOWN_TABLE, "Unknown table expression identifier '{shown}'{hint}"),
        }
    }

    fn table_function(&self, name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>> {
        table_functions::make(name, args, self, self.replacement_scan.as_deref())
    }

    fn sql_function(&self, name: &str) -> Result<Option<(Vec<String>, ast::Expr)>> {
        let functions = self.database.shared.functions.all();
        let Some(found) = functions.get(name) else { return Ok(None) };
        Ok(Some((found.params.clone(), found.body.clone()?)))
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let given = self.params.iter().find(|(known, _)| known == name).map(|(_, text)| text);
        given.or_else(|| self.state.params.get(name)).cloned()
    }

    fn inside<'a>(&'a self, view: &'a dyn Table) -> Option<Box<dyn Environment + 'a>> {
        let query = view.as_any().downcast_ref::<ReplacementQuery>()?;
        Some(Box::new(ReplacementQueryScope { scope: MaybeOwned::Borrowed(self), query }))
    }

    fn with_settings<'a>(&'a self, settings: &[ast::Setting]) -> Result<Box<dyn Environment + 'a>> {
        Ok(Box::new(self.of_subquery(settings)?))
    }

    fn scan_limits(&self) -> Option<Arc<ScanLimits>> {
        self.scan_limits.clone()
    }

    fn explain(&self, statement: &str) -> Result<Arc<dyn Table>> {
        let parsed = chalet_syntax::parse_statements(statement)?;
        let Some(ast::StatementKind::Explain(explain)) = parsed.first().map(|statement| &statement.kind)
        else {
            chalet_base::bail!(BAD_ARGUMENTS, "Table function viewExplain explains queries, not {statement}");
        };
        let text = crate::statements::explain::run(explain, self)?;
        let lines = text.lines().map(|line| vec![Value::string(line)]);
        system::made("ViewExplain", &[("explain", DataType::String)], lines)
    }

    fn optimized(&self, plan: Plan) -> Result<Plan> {
        self.optimize(plan)
    }

    fn run(&self, plan: Plan) -> Result<Vec<Block>> {
        let plan = self.optimize(plan)?;
        chalet_exec::result::run_to_blocks(&plan, &self.exec)
    }
}
