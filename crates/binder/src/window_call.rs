//! Calls OVER a window: they become columns of a Window node; the call itself is a reference to one.

use crate::call::cast;
use crate::clauses::KnownWindow;
use crate::select::{Place, SelectBinder};
use crate::shown_type::argument;
use chalet_base::{Result, bail, ensure};
use chalet_function_api::aggregate::RowOrder;
use chalet_function_api::{Argument, WindowFunction};
use chalet_plan::{Expr, FrameBound, FrameSpec, FrameUnit, SortKey, WindowCall, WindowImpl};
use chalet_syntax::ast;
use chalet_types::{DataType, Value};

impl SelectBinder<'_> {
    pub(crate) fn window_call(&mut self, call: &ast::Call, e: &ast::Expr) -> Result<Expr> {
        match self.place {
            Place::Aggregates if self.in_window => {
                bail!(
                    ILLEGAL_AGGREGATION,
                    "Window function {e} is found inside another window function in query"
                )
            }
            Place::Aggregates => {}
            Place::InsideAggregate => {
                bail!(
                    ILLEGAL_AGGREGATION,
                    "Window function {e} is found inside an aggregate function in query"
                )
            }
            Place::Before(clause) => {
                bail!(ILLEGAL_AGGREGATION, "Window function {e} is found in {clause} in query")
            }
        }
        self.in_window = true;
        let bound = self.window(call, e);
        self.in_window = false;
        bound
    }

    fn window(&mut self, call: &ast::Call, e: &ast::Expr) -> Result<Expr> {
        let env = self.query.env;
        let spec = self.window_spec(call.over.as_ref())?;
        let partition_by = spec.partition_by.iter().map(|p| self.expr(p)).collect::<Result<Vec<_>>>()?;
        if let Some(key) = partition_by.iter().find(|key| key.ty().has_states()) {
            bail!(
                ILLEGAL_COLUMN,
                "Data type {} is not allowed in window PARTITION BY keys, because it contains an aggregate function state whose \
                 values are not comparable",
                key.ty()
            );
        }
        let order_by = spec.order_by.iter().map(|o| self.sort_key(o)).collect::<Result<Vec<_>>>()?;
        crate::select::check_comparable(&order_by)?;
        let frame = self.frame(spec.frame.as_ref(), &order_by)?;
        let is_written = spec.frame.is_some();
        let mut row_order = RowOrder::Free;
        let mut shown = None;
        let (function, args, ty) = match env.registry().windows.get(&call.name).cloned() {
            Some(function) => {
                let parameters = self.parameters(call)?;
                let mut args = Vec::new();
                for arg in &call.args {
                    args.extend(self.expand_argument(arg)?);
                }
                let arguments: Vec<Argument> = args.iter().map(|(name, expr)| argument(expr, name)).collect();
                let ty = function.result_type(&parameters, &arguments, env.context())?;
                let exprs: Vec<Expr> = args.iter().map(|(_, expr)| expr.clone()).collect();
                if let Some(arguments) = self.query.shown_arguments(&arguments, &exprs) {
                    let result = function.result_type(&parameters, &arguments, env.context()).ok();
                    shown = result.filter(|shown| shown.without_simple_aggregates() == ty);
                }
                check_frame(&*function, is_written, order_by.is_empty(), &frame, &call.name)?;
                let function = function.with_parameters(&parameters)?.unwrap_or(function);
                let mut converted = Vec::with_capacity(args.len());
                for (index, (_, arg)) in args.into_iter().enumerate() {
                    converted.push(match function.converts_argument(index) {
                        true => cast(env, arg, &ty)?,
                        false => arg,
                    });
                }
                (WindowImpl::Window(function), converted, ty)
            }
            None if chalet_aggregates::resolve::exists(env.registry(), &call.name) => {
                let (resolved, args, of_aggregate) = self.resolve_aggregate(call)?;
                shown = of_aggregate;
                row_order = resolved.row_order;
                (WindowImpl::Aggregate(resolved.aggregate), args, resolved.result)
            }
            None => {
                bail!(
                    UNKNOWN_AGGREGATE_FUNCTION,
                    "Aggregate function with name '{}' does not exist",
                    call.name
                )
            }
        };
        let name: std::sync::Arc<str> = self.result_name(&ast::Expr { alias: None, ..e.clone() }).into();
        let field = self.query.ids.field(name.clone(), ty);
        self.query.ids.show(&field, shown);
        let column = Expr::Column(field.id, field.ty.clone());
        let call = WindowCall { field, function, args, frame, row_order, name };
        self.windows.push(KnownWindow { partition_by, order_by, call });
        Ok(column)
    }

    /// The window with the one it extends filled in.
    fn window_spec(&self, over: Option<&ast::WindowRef>) -> Result<ast::WindowSpec> {
        let is_named = matches!(over, Some(ast::WindowRef::Named(_)));
        let (mut spec, mut base) = match over {
            Some(ast::WindowRef::Named(name)) => (
                ast::WindowSpec { base: None, partition_by: vec![], order_by: vec![], frame: None },
                Some(name.clone()),
            ),
            Some(ast::WindowRef::Spec(spec)) => (ast::WindowSpec::clone(spec), spec.base.clone()),
            None => bail!(LOGICAL_ERROR, "A window call has no window"),
        };
        // A chain of windows that extend each other is no longer than their list.
        for depth in 0..=self.window_defs.len() {
            let Some(name) = base else { return Ok(spec) };
            let found = self.window_defs.iter().find(|w| w.name.name == name.name);
            let Some(found) = found else {
                bail!(BAD_ARGUMENTS, "Window '{}' does not exist", name.name);
            };
            // A name alone is that window; what extends one adds to it.
            if depth > 0 || !is_named {
                check_derived(&spec, &found.spec, &name.name)?;
            }
            spec.partition_by = found.spec.partition_by.clone();
            if spec.order_by.is_empty() {
                spec.order_by = found.spec.order_by.clone();
            }
            spec.frame = spec.frame.or_else(|| found.spec.frame.clone());
            base = found.spec.base.clone();
        }
        bail!(BAD_ARGUMENTS, "Windows extend each other in a circle")
    }

    /// Without a frame: from the start to the current row and its peers, or everything when there is no order.
    fn frame(&mut self, frame: Option<&ast::Frame>, order_by: &[SortKey]) -> Result<FrameSpec> {
        let Some(frame) = frame else {
            return Ok(FrameSpec {
                unit: FrameUnit::Range,
                start: FrameBound::UnboundedPreceding,
                end: if order_by.is_empty() {
                    FrameBound::UnboundedFollowing
                } else {
                    FrameBound::CurrentRow
                },
            });
        };
        let unit = match frame.unit {
            ast::FrameUnit::Rows => FrameUnit::Rows,
            ast::FrameUnit::Range => FrameUnit::Range,
            ast::FrameUnit::Groups => FrameUnit::Groups,
        };
        let start = self.frame_bound(&frame.start, ("start", frame.unit))?;
        let end = self.frame_bound(&frame.end, ("end", frame.unit))?;
        ensure!(
            rank(&start) <= rank(&end)
                && start != FrameBound::UnboundedFollowing
                && end != FrameBound::UnboundedPreceding,
            BAD_ARGUMENTS,
            "Window frame start is after its end"
        );
        if let (FrameBound::Preceding(a, _), FrameBound::Preceding(b, _)) = (&start, &end) {
            ensure!(a.compare(b).is_ge(), BAD_ARGUMENTS, "Window frame start is after its end");
        }
        if let (FrameBound::Following(a, _), FrameBound::Following(b, _)) = (&start, &end) {
            ensure!(a.compare(b).is_le(), BAD_ARGUMENTS, "Window frame start is after its end");
        }
        let offset = |b: &FrameBound| matches!(b, FrameBound::Preceding(..) | FrameBound::Following(..));
        if unit == FrameUnit::Range && (offset(&start) || offset(&end)) {
            ensure!(
                order_by.len() == 1,
                BAD_ARGUMENTS,
                "The RANGE OFFSET frame requires exactly one ORDER BY column, {} given",
                order_by.len()
            );
        }
        Ok(FrameSpec { unit, start, end })
    }

    fn frame_bound(&mut self, bound: &ast::FrameBound, place: (&str, ast::FrameUnit)) -> Result<FrameBound> {
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            ast::FrameBound::Preceding(e) => {
                let (value, ty) = self.frame_offset(e, place)?;
                FrameBound::Preceding(value, ty)
            }
            ast::FrameBound::Following(e) => {
                let (value, ty) = self.frame_offset(e, place)?;
                FrameBound::Following(value, ty)
            }
        })
    }

    fn frame_offset(
        &mut self,
        e: &ast::Expr,
        (end, unit): (&str, ast::FrameUnit),
    ) -> Result<(Value, DataType)> {
        let literal = self.constant(e, "Window frame offset")?;
        ensure!(
            !matches!(literal.ty.bare(), DataType::Interval(_)),
            BAD_ARGUMENTS,
            "Window frame {} OFFSET expression must be constant with numeric type. Actual: {e} of type {}",
            if end == "start" { "begin" } else { end },
            literal.ty
        );
        let value = literal.value();
        let unit = match unit {
            ast::FrameUnit::Rows => "ROWS",
            ast::FrameUnit::Range => "RANGE",
            ast::FrameUnit::Groups => "GROUPS",
        };
        ensure!(
            value.as_u64().is_some_and(|n| n < MAX_OFFSET) && !literal.ty.bare().is_float(),
            BAD_ARGUMENTS,
            "Frame {end} offset for '{unit}' frame must be a nonnegative 32-bit integer, '{e}' of type '{}' given",
            literal.ty
        );
        Ok((value, literal.ty))
    }
}

/// Fails on a WINDOW clause that defines a name twice.
pub(crate) fn check_names(windows: &[ast::WindowDef]) -> Result<()> {
    for (position, window) in windows.iter().enumerate() {
        ensure!(
            !windows[..position].iter().any(|before| before.name.name == window.name.name),
            BAD_ARGUMENTS,
            "Window '{}' is already defined",
            window.name.name
        );
    }
    Ok(())
}

/// Offsets of frames are smaller, in the kernel too.
const MAX_OFFSET: u64 = i32::MAX as u64;

/// Fails on a frame that a function does not take.
fn check_frame(
    function: &dyn WindowFunction,
    is_written: bool,
    is_unordered: bool,
    frame: &FrameSpec,
    name: &str,
) -> Result<()> {
    ensure!(
        !is_written || !function.ignores_frame(),
        BAD_ARGUMENTS,
        "Window function '{name}' does not expect window frame to be explicitly specified"
    );
    ensure!(
        !(is_written || is_unordered) || function.takes_frame(frame.unit == FrameUnit::Rows, is_whole(frame)),
        BAD_ARGUMENTS,
        "Unsupported window frame type for function '{name}'"
    );
    Ok(())
}

fn is_whole(frame: &FrameSpec) -> bool {
    frame.start == FrameBound::UnboundedPreceding && frame.end == FrameBound::UnboundedFollowing
}

/// Fails where a window changes what it has from the one that it extends.
fn check_derived(spec: &ast::WindowSpec, base: &ast::WindowSpec, name: &str) -> Result<()> {
    ensure!(
        spec.partition_by.is_empty(),
        BAD_ARGUMENTS,
        "Derived window definition of '{name}' is not allowed to override PARTITION BY"
    );
    ensure!(
        spec.order_by.is_empty() || base.order_by.is_empty(),
        BAD_ARGUMENTS,
        "Derived window definition of '{name}' is not allowed to override a non-empty ORDER BY"
    );
    ensure!(base.frame.is_none(), BAD_ARGUMENTS, "Parent window '{name}' is not allowed to define a frame");
    Ok(())
}

/// Bounds in the order of the rows that they name.
fn rank(bound: &FrameBound) -> u8 {
    match bound {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(..) => 1,
        FrameBound::CurrentRow => 2,
        FrameBound::Following(..) => 3,
        FrameBound::UnboundedFollowing => 4,
    }
}
