//! EXPLAIN: the statement at a stage of its life, as text.

use crate::binding::bind;
use crate::explain_indexes;
use crate::explain_syntax;
use crate::plan_optimizer;
use crate::query_context::QueryContext;
use crate::settings::Settings;
use crate::written_settings::setting_text;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_exec::explain::{Pipeline, PlanNotes};
use chalet_memory::profile::Profile;
use chalet_memory::profile::report::Report;
use chalet_memory::profile::sampler::Periods;
use chalet_plan::Plan;
use chalet_plan::explain::{explain, explain_with};
use chalet_syntax::ast::{self, ExplainKind, StatementKind};
use chalet_types::Value;
use std::sync::Arc;

pub(crate) fn run(statement: &ast::Explain, ctx: &QueryContext) -> Result<String> {
    let inner = &statement.statement;
    check_settings(statement, ctx)?;
    match statement.kind {
        ExplainKind::Ast => chalet_syntax::explain_ast(inner),
        ExplainKind::Syntax => {
            let in_one_line = flag(&statement.settings, "oneline", ctx)?;
            Ok(explain_syntax::text(inner, in_one_line, ctx))
        }
        ExplainKind::QueryTree => Ok(explain(&bind(query(inner, "QUERY TREE")?, ctx)?.plan)),
        ExplainKind::Plan => {
            let plan = plan(query(inner, "PLAN")?, ctx)?;
            match has_indexes(&statement.settings, ctx)? {
                true => explain_with(&plan, &mut |scan| explain_indexes::lines(scan, ctx)),
                false => Ok(explain(&plan)),
            }
        }
        ExplainKind::Pipeline => {
            let query = query(inner, "PIPELINE")?;
            if is_json(statement, ctx)? {
                let ctx = with_notes(ctx);
                return Ok(Pipeline::of(&plan(query, &ctx)?, &ctx.exec)?.json(None));
            }
            Ok(Pipeline::of(&plan(query, ctx)?, &ctx.exec)?.text())
        }
        ExplainKind::Analyze => {
            let query = query(inner, "ANALYZE")?;
            if is_json(statement, ctx)? {
                let (pipeline, report) = profiled(query, ctx)?;
                return Ok(pipeline.json(Some(&report)));
            }
            let pipeline = Pipeline::of(&plan(query, ctx)?, &ctx.exec)?;
            pipeline.run()?;
            Ok(pipeline.measured_text())
        }
        ExplainKind::Profile => {
            let query = query(inner, "PROFILE")?;
            let (pipeline, report) = profiled(query, ctx)?;
            if is_json(statement, ctx)? {
                return Ok(pipeline.json(Some(&report)));
            }
            Ok(pipeline.shares(&report))
        }
        ExplainKind::Estimate => {
            let rows = estimate(inner, ctx)?.into_iter();
            let shown = rows.map(|row| row.iter().map(shown).collect::<Vec<_>>().join("\t") + "\n");
            Ok(shown.collect())
        }
    }
}

/// Those of EXPLAIN PLAN and of ESTIMATE.
const OF_PLAN: &[&str] = &[
    "header",
    "optimize",
    "estimates",
    "indices",
    "pretty",
    "actions",
    "indexes",
    "keep_logical_steps",
    "projections",
    "input_headers",
    "sorting",
    "json",
    "description",
    "distributed",
    "column_structure",
    "compact",
];

/// The settings that a kind of EXPLAIN has.
fn settings_of(kind: ExplainKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        ExplainKind::Plan | ExplainKind::Estimate => ("PLAN", OF_PLAN),
        ExplainKind::Pipeline => (
            "PIPELINE",
            &["header", "graph", "distributed", "compact", "compact_repeated_processor_chains", "json"],
        ),
        ExplainKind::Syntax => {
            ("SYNTAX", &["query_tree_passes", "oneline", "run_query_tree_passes", "single_record"])
        }
        ExplainKind::Ast => ("AST", &["graph", "optimize"]),
        ExplainKind::QueryTree => {
            ("QUERY TREE", &["passes", "run_passes", "dump_tree", "dump_passes", "dump_ast"])
        }
        ExplainKind::Analyze => (
            "ANALYZE",
            &[
                "processors",
                "indexes",
                "actions",
                "column_structure",
                "pretty",
                "header",
                "compact",
                "description",
                "sorting",
                "input_headers",
                "projections",
                "matches",
                "json",
            ],
        ),
        ExplainKind::Profile => ("PROFILE", &["json"]),
    }
}

/// Fails for a setting that the kind does not have, and for a value that is none of it.
pub(crate) fn check_settings(statement: &ast::Explain, ctx: &QueryContext) -> Result<()> {
    let (kind, known) = settings_of(statement.kind);
    for setting in &statement.settings {
        let name = setting.name.name.as_str();
        ensure!(
            known.contains(&name),
            UNKNOWN_SETTING,
            "Unknown setting \"{name}\" for EXPLAIN {kind} query. Supported settings: {}",
            known.join(", ")
        );
        // That one has words of its own.
        if name == "json" {
            continue;
        }
        let ast::SettingValue::Expr(value) = &setting.value else { continue };
        let literal = bind_constant(value, ctx, &ctx.ids)?;
        let Value::UInt(number) = literal.value() else {
            bail!(
                INVALID_SETTING_VALUE,
                "Invalid type {} for setting \"{name}\" only integer settings are supported",
                literal.ty
            )
        };
        ensure!(
            number <= 1 || name.ends_with("passes") && !name.starts_with("run") && !name.starts_with("dump"),
            INVALID_SETTING_VALUE,
            "Invalid value {number} for setting \"{name}\". Expected boolean type"
        );
    }
    Ok(())
}

/// EXPLAIN ESTIMATE as rows.
pub(crate) fn estimate(statement: &ast::Statement, ctx: &QueryContext) -> Result<Vec<Vec<Value>>> {
    let StatementKind::Query(query) = &statement.kind else {
        bail!(INCORRECT_QUERY, "Only SELECT is supported for EXPLAIN ESTIMATE query")
    };
    let written = bind(query, ctx)?.plan;
    let tables = explain_indexes::tables_with_rows(&written);
    explain_indexes::estimate(&plan_optimizer::optimized(written, ctx)?, tables, ctx)
}

fn shown(value: &Value) -> String {
    value.as_str().map(str::to_owned).or(value.as_u64().map(|n| n.to_string())).unwrap_or_default()
}

/// `indexes = 1` of EXPLAIN PLAN, also called `indices`.
fn has_indexes(settings: &[ast::Setting], ctx: &QueryContext) -> Result<bool> {
    Ok(flag(settings, "indexes", ctx)? || flag(settings, "indices", ctx)?)
}

fn flag(settings: &[ast::Setting], wanted_name: &str, ctx: &QueryContext) -> Result<bool> {
    let mut wanted = false;
    for setting in settings {
        let name = setting.name.name.as_str();
        let ast::SettingValue::Expr(value) = &setting.value else { continue };
        if name == wanted_name {
            let value = bind_constant(value, ctx, &ctx.ids)?.value();
            wanted = match value {
                Value::UInt(n @ 0..=1) => n == 1,
                Value::Int(n @ 0..=1) => n == 1,
                other => bail!(
                    INVALID_SETTING_VALUE,
                    "Invalid value {} for setting \"{name}\". Expected boolean type",
                    shown(&other)
                ),
            };
        }
    }
    Ok(wanted)
}

fn query<'a>(statement: &'a ast::Statement, kind: &str) -> Result<&'a ast::Query> {
    match &statement.kind {
        StatementKind::Query(query) => Ok(query),
        _ => unsupported(kind),
    }
}

fn unsupported<T>(kind: &str) -> Result<T> {
    bail!(NOT_IMPLEMENTED, "EXPLAIN {kind} of this statement is not supported")
}

fn plan(query: &ast::Query, ctx: &QueryContext) -> Result<Plan> {
    plan_optimizer::optimized(bind(query, ctx)?.plan, ctx)
}

/// Between two looks at the threads where no setting says otherwise. Each look wakes a thread: at one a millisecond that costs
/// up to 3 % of the time of the processors, at this pace under 1 %.
const PERIOD_NS: u64 = 4_000_000;

/// Runs a query under a profile.
fn profiled(query: &ast::Query, ctx: &QueryContext) -> Result<(Pipeline, Report)> {
    let ctx = with_notes(ctx);
    let profile = Arc::new(Profile::new());
    let periods = periods(&ctx.state.settings).unwrap_or(Periods { real_ns: PERIOD_NS, cpu_ns: PERIOD_NS });
    let sampler = profile.sample(periods)?;
    let entered = profile.enter(&[]);
    let pipeline = Pipeline::of(&plan(query, &ctx)?, &ctx.exec)?;
    pipeline.run()?;
    drop((entered, sampler));
    Ok((pipeline, profile.report()))
}

/// What a session or statement asks for; none where it asks for nothing. The kernel's defaults are one look a second at all
/// queries, which is for servers.
pub(crate) fn periods(settings: &Settings) -> Option<Periods> {
    let real_ns = settings.number("query_profiler_real_time_period_ns").unwrap_or(0);
    let cpu_ns = settings.number("query_profiler_cpu_time_period_ns").unwrap_or(0);
    (real_ns > 0 || cpu_ns > 0).then_some(Periods { real_ns, cpu_ns })
}

/// The same, where the physical planner says which operator is of which node.
fn with_notes(ctx: &QueryContext) -> QueryContext {
    let mut ctx = ctx.clone();
    ctx.exec.notes = Some(Arc::new(PlanNotes::new(Box::new(chalet_optimizer::estimated_rows))));
    ctx
}

/// The setting `json` of an EXPLAIN.
fn is_json(statement: &ast::Explain, ctx: &QueryContext) -> Result<bool> {
    let Some(setting) = statement.settings.iter().find(|setting| setting.name.name == "json") else {
        return Ok(false);
    };
    match &setting.value {
        ast::SettingValue::Default => Ok(false),
        ast::SettingValue::Expr(value) => {
            let literal = bind_constant(value, ctx, &ctx.ids)?;
            let text = setting_text(&literal.value(), &literal.ty);
            match text.as_str() {
                "1" | "true" => Ok(true),
                "0" | "false" => Ok(false),
                other => bail!(
                    INVALID_SETTING_VALUE,
                    "Invalid value {other} for setting \"json\". Expected boolean value"
                ),
            }
        }
    }
}
