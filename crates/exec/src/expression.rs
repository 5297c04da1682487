//! Bound expressions as programs over blocks: equal sub-expressions are computed once, lazy branches only for the rows
//! that need them.

use crate::in_sets;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, err};
use chalet_columns::{Block, BooleanBuffer, Column, Data, Vector};
use chalet_function_api::call::{BoundFunction, Input, scatter};
use chalet_function_api::{Context, Lambda, Lazy};
use chalet_memory::profile;
use chalet_plan::{ColumnId, Expr, Field, InExpr, Literal};
use chalet_types::DataType;
use std::sync::Arc;

/// Where each column stands in a block.
pub type Layout = HashMap<ColumnId, usize>;

/// The position of every field by its id.
pub fn layout(fields: &[Field]) -> Layout {
    fields.iter().enumerate().map(|(i, f)| (f.id, i)).collect()
}

/// Several expressions over the columns of one block.
#[derive(Clone)]
pub struct Program {
    /// In order of evaluation: a step reads only steps before it.
    steps: Vec<Step>,
    outputs: Vec<usize>,
    ctx: Arc<Context>,
}

#[derive(Clone)]
enum Step {
    Input(usize),
    Literal(Literal),
    Call { function: Arc<BoundFunction>, args: Vec<Operand> },
    Lazy { function: Arc<BoundFunction>, args: Vec<LazyArg>, kind: Lazy },
    In { expr: Box<InExpr>, needles: Vec<usize> },
}

#[derive(Clone)]
enum Operand {
    Step(usize),
    Lambda(Arc<LambdaProgram>),
}

/// An argument that is evaluated for some rows only.
#[derive(Clone)]
enum LazyArg {
    Step(usize),
    Program { program: Arc<Program>, inputs: Vec<usize>, ty: DataType },
}

/// The body over its parameters first, then the captured columns.
struct LambdaProgram {
    n_parameters: usize,
    body: Program,
    captures: Vec<usize>,
    ty: DataType,
}

impl Program {
    /// Compiles expressions over blocks of this layout. Fails where a column is not in it, which is a bug.
    pub fn new(exprs: &[&Expr], layout: &Layout, ctx: &Arc<Context>) -> Result<Program> {
        let mut compiler = Compiler { steps: Vec::new(), seen: Vec::new(), layout, ctx };
        let outputs = exprs.iter().map(|e| compiler.expr(e)).collect::<Result<Vec<_>>>()?;
        Ok(Program { steps: compiler.steps, outputs, ctx: ctx.clone() })
    }

    /// The columns of all expressions.
    pub fn evaluate(&self, block: &Block) -> Result<Vec<Column>> {
        let n_rows = block.n_rows();
        let mut values: Vec<Column> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step {
                Step::Input(index) => block.column(*index).clone(),
                Step::Literal(literal) => Expr::constant(literal, n_rows),
                Step::Call { function, args } => self.call(function, args, &values, n_rows)?,
                Step::Lazy { function, args, kind } => self.lazy(function, args, *kind, &values, n_rows)?,
                Step::In { expr, needles } => {
                    let columns: Vec<Column> = needles.iter().map(|&n| values[n].clone()).collect();
                    let name = if expr.negated { "notIn" } else { "in" };
                    let _in = profile::enter(profile::Kind::Function, name, 0);
                    find_in_set(expr, &columns, n_rows)?
                }
            };
            values.push(value);
        }
        Ok(self.outputs.iter().map(|&o| values[o].clone()).collect())
    }

    /// The columns that the expressions are, by position, where all are columns.
    pub fn as_columns(&self) -> Option<Vec<usize>> {
        let column = |&output: &usize| match self.steps[output] {
            Step::Input(index) => Some(index),
            _ => None,
        };
        self.outputs.iter().map(column).collect()
    }

    /// Rows where the first expression is true.
    pub fn mask(&self, block: &Block) -> Result<BooleanBuffer> {
        let column = self.evaluate(block)?.swap_remove(0);
        truth(&column)
    }

    fn call(
        &self,
        function: &BoundFunction,
        args: &[Operand],
        values: &[Column],
        n_rows: usize,
    ) -> Result<Column> {
        let lambdas: Vec<Option<LambdaRun>> = args
            .iter()
            .map(|arg| match arg {
                Operand::Step(_) => None,
                Operand::Lambda(program) => Some(LambdaRun {
                    program,
                    captures: program.captures.iter().map(|&c| values[c].clone()).collect(),
                }),
            })
            .collect();
        let inputs = args.iter().zip(&lambdas).map(|(arg, lambda)| match (arg, lambda) {
            (Operand::Step(step), _) => Input::Column(values[*step].clone()),
            (Operand::Lambda(_), Some(run)) => Input::Lambda(run),
            (Operand::Lambda(_), None) => unreachable!("made above"),
        });
        function.execute(inputs.collect(), n_rows, &self.ctx)
    }

    /// Evaluates each argument for the rows that the ones before leave open.
    fn lazy(
        &self,
        function: &BoundFunction,
        args: &[LazyArg],
        kind: Lazy,
        values: &[Column],
        n_rows: usize,
    ) -> Result<Column> {
        // Rows that still need later arguments.
        let mut open = BooleanBuffer::new_set(n_rows);
        let mut columns: Vec<Column> = Vec::with_capacity(args.len());
        let mut branch = open.clone();
        for (i, arg) in args.iter().enumerate() {
            let is_last = i + 1 == args.len();
            let is_condition = kind == Lazy::Conditions && i % 2 == 0 && !is_last;
            let is_value = kind == Lazy::Conditions && i % 2 == 1 && !is_last;
            let rows = if is_value { &branch } else { &open };
            let column = self.lazy_argument(arg, rows, values, n_rows)?;
            if is_condition {
                branch = &open & &truth(&column)?;
                open = &open & &!&branch;
            } else if !is_value && !is_last {
                open = &open
                    & &match kind {
                        Lazy::And => !&is_false(&column)?,
                        Lazy::Or => !&truth(&column)?,
                        _ => nulls(&column),
                    };
            }
            columns.push(column);
        }
        function.execute(columns.into_iter().map(Input::Column).collect(), n_rows, &self.ctx)
    }

    fn lazy_argument(
        &self,
        arg: &LazyArg,
        rows: &BooleanBuffer,
        values: &[Column],
        n_rows: usize,
    ) -> Result<Column> {
        match arg {
            LazyArg::Step(step) => Ok(values[*step].clone()),
            LazyArg::Program { program, inputs, ty } => {
                let columns: Vec<Column> = inputs.iter().map(|&i| values[i].clone()).collect();
                let block = Block::new(columns, n_rows);
                let needed = rows.count_set_bits();
                if needed == n_rows {
                    return Ok(program.evaluate(&block)?.swap_remove(0));
                }
                if needed == 0 {
                    return Ok(Column::constant(placeholder(ty), n_rows));
                }
                let some = program.evaluate(&block.filter(rows))?.swap_remove(0);
                if let Column::Const { value, .. } = some {
                    return Ok(Column::Const { value, len: n_rows });
                }
                Ok(Column::Flat(scatter(&some.into_flat(), rows, ty)))
            }
        }
    }
}

/// One value of a type, for rows that nobody looks at.
fn placeholder(ty: &DataType) -> Vector {
    Vector::from(Data::defaults(ty, 1))
}

struct Compiler<'a> {
    steps: Vec<Step>,
    /// Expression behind each step, to find equal ones.
    seen: Vec<Option<&'a Expr>>,
    layout: &'a Layout,
    ctx: &'a Arc<Context>,
}

impl<'a> Compiler<'a> {
    fn push(&mut self, step: Step, expr: Option<&'a Expr>) -> usize {
        self.steps.push(step);
        self.seen.push(expr);
        self.steps.len() - 1
    }

    fn expr(&mut self, expr: &'a Expr) -> Result<usize> {
        if let Some(found) = self.seen.iter().position(|seen| *seen == Some(expr)) {
            return Ok(found);
        }
        let step = match expr {
            Expr::Column(id, _) => Step::Input(self.input(*id)?),
            Expr::Literal(literal) => Step::Literal(literal.clone()),
            Expr::Call { function, args } => {
                let kind = function.function.record().lazy;
                // Branches that cannot fail and cost little are cheaper evaluated for all rows.
                let pays = args.iter().skip(1).any(|arg| !arg.is_total());
                if kind != Lazy::No && pays && args.len() > 1 {
                    let args = args.iter().enumerate().map(|(i, arg)| self.lazy_argument(i, arg));
                    Step::Lazy { function: function.clone(), args: args.collect::<Result<_>>()?, kind }
                } else {
                    let args = args.iter().map(|arg| self.operand(arg)).collect::<Result<_>>()?;
                    Step::Call { function: function.clone(), args }
                }
            }
            Expr::In(e) => {
                let needles = e.needles.iter().map(|n| self.expr(n)).collect::<Result<_>>()?;
                Step::In { expr: e.clone(), needles }
            }
            Expr::Lambda { .. } => bail!(LOGICAL_ERROR, "A lambda expression stands outside of a function"),
            // Where an expression stands in no plan: the default of a column, for example.
            Expr::Subquery(_) => bail!(NOT_IMPLEMENTED, "A correlated subquery is not supported here"),
        };
        Ok(self.push(step, Some(expr)))
    }

    fn input(&self, id: ColumnId) -> Result<usize> {
        self.layout
            .get(&id)
            .copied()
            .ok_or_else(|| err!(LOGICAL_ERROR, "Column #{} is not in the block", id.0))
    }

    fn operand(&mut self, arg: &'a Expr) -> Result<Operand> {
        let Expr::Lambda { params, body } = arg else {
            return Ok(Operand::Step(self.expr(arg)?));
        };
        let mut layout: Layout = params.iter().enumerate().map(|(i, p)| (p.0, i)).collect();
        let mut captured: Vec<ColumnId> = arg.columns().into_iter().collect();
        captured.sort();
        let mut captures = Vec::with_capacity(captured.len());
        for id in captured {
            layout.insert(id, layout.len());
            let index = self.input(id)?;
            captures.push(self.push(Step::Input(index), None));
        }
        let body_program = Program::new(&[&**body], &layout, self.ctx)?;
        Ok(Operand::Lambda(Arc::new(LambdaProgram {
            body: body_program,
            captures,
            ty: body.ty().clone(),
            n_parameters: params.len(),
        })))
    }

    fn lazy_argument(&mut self, index: usize, arg: &'a Expr) -> Result<LazyArg> {
        // The first argument is needed for every row.
        if index == 0 || arg.is_total() || self.seen.contains(&Some(arg)) {
            return Ok(LazyArg::Step(self.expr(arg)?));
        }
        let mut layout = Layout::default();
        let mut ids: Vec<ColumnId> = arg.columns().into_iter().collect();
        ids.sort();
        let mut inputs = Vec::with_capacity(ids.len());
        for id in ids {
            layout.insert(id, inputs.len());
            let index = self.input(id)?;
            inputs.push(self.push(Step::Input(index), None));
        }
        let program = Program::new(&[arg], &layout, self.ctx)?;
        Ok(LazyArg::Program { program: Arc::new(program), inputs, ty: arg.ty().clone() })
    }
}

struct LambdaRun<'a> {
    program: &'a LambdaProgram,
    captures: Vec<Column>,
}

/// Rows, and elements of captured arrays, that the body of a lambda is evaluated over at once: what it computes in between
/// stays small, and the query can be stopped.
const LAMBDA_ROWS: usize = 1 << 16;
const LAMBDA_ELEMENTS: usize = 1 << 22;

impl Lambda for LambdaRun<'_> {
    fn call(&self, mut args: Vec<Column>, offsets: &[i64]) -> Result<Column> {
        let n_rows = (offsets[offsets.len() - 1] - offsets[0]) as usize;
        args.extend(self.captures.iter().map(|c| c.replicate(offsets)));
        let body = &self.program.body;
        let block = Block::new(args, n_rows);
        let columns: Vec<&Column> = block.columns().iter().collect();
        let pieces = Column::pieces(&columns, n_rows, LAMBDA_ROWS, LAMBDA_ELEMENTS);
        if pieces.len() <= 1 {
            return Ok(body.evaluate(&block)?.swap_remove(0));
        }
        let mut results = Vec::with_capacity(pieces.len());
        for piece in pieces {
            body.ctx.interrupt.check()?;
            results.push(body.evaluate(&block.slice(piece.start, piece.len()))?.swap_remove(0));
        }
        Ok(Column::concat(&results.iter().collect::<Vec<_>>()))
    }

    fn result_type(&self) -> &DataType {
        &self.program.ty
    }

    fn n_parameters(&self) -> usize {
        self.program.n_parameters
    }
}

/// Rows where a condition of any number type is true: not zero and not NULL.
pub fn truth(column: &Column) -> Result<BooleanBuffer> {
    Ok(match column {
        Column::Const { value, len } => {
            let yes = vector_truth(value)?.value(0);
            if yes { BooleanBuffer::new_set(*len) } else { BooleanBuffer::new_unset(*len) }
        }
        Column::Dict { codes, values } => {
            let truths = vector_truth(values)?;
            BooleanBuffer::collect_bool(codes.len(), |row| truths.value(codes[row] as usize))
        }
        Column::Flat(vector) => vector_truth(vector)?,
    })
}

fn vector_truth(vector: &Vector) -> Result<BooleanBuffer> {
    fn nonzero<T: Default + PartialEq>(values: &[T]) -> BooleanBuffer {
        let zero = T::default();
        BooleanBuffer::collect_bool(values.len(), |row| values[row] != zero)
    }
    let bits = match &vector.data {
        // What comparisons give.
        Data::U8(values) => chalet_columns::bits::nonzero(values),
        data => chalet_columns::each_native!(data, values => nonzero(values),
            Data::Nothing(n) => BooleanBuffer::new_unset(*n),
            _ => bail!(ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER, "Illegal type of column for filter. Must be a number")),
    };
    Ok(match &vector.validity {
        Some(validity) => &bits & validity.inner(),
        None => bits,
    })
}

/// Rows where a condition is false: zero, and not NULL.
pub(crate) fn is_false(column: &Column) -> Result<BooleanBuffer> {
    Ok(&!&truth(column)? & &!&nulls(column))
}

fn nulls(column: &Column) -> BooleanBuffer {
    match column {
        Column::Flat(vector) if vector.validity.is_none() && !matches!(vector.data, Data::Nothing(_)) => {
            BooleanBuffer::new_unset(vector.len())
        }
        Column::Flat(Vector { validity: Some(validity), data }) if !matches!(data, Data::Nothing(_)) => {
            !validity.inner()
        }
        other => BooleanBuffer::collect_bool(other.len(), |row| {
            let (vector, row) = other.locate(row);
            vector.is_null(row) || matches!(vector.data, Data::Nothing(_))
        }),
    }
}

fn may_be_null(column: &Column) -> bool {
    match column {
        Column::Flat(vector) | Column::Const { value: vector, .. } | Column::Dict { values: vector, .. } => {
            vector.validity.is_some() || matches!(vector.data, Data::Nothing(_))
        }
    }
}

fn find_in_set(expr: &InExpr, needles: &[Column], n_rows: usize) -> Result<Column> {
    let set = in_sets::built(&expr.set).ok_or_else(|| err!(LOGICAL_ERROR, "The set of IN is not built"))?;
    // One dictionary: each distinct value is looked up once.
    if let [Column::Dict { codes, values }] = needles
        && values.len() <= n_rows
    {
        let flat = Column::Flat(values.clone());
        let found = find_in_set(expr, std::slice::from_ref(&flat), values.len())?;
        return Ok(Column::Dict { codes: codes.clone(), values: found.into_flat() });
    }
    if n_rows > 1 && needles.iter().all(Column::is_const) {
        let ones: Vec<Column> = needles.iter().map(|c| c.slice(0, 1)).collect();
        let value = find_in_set(expr, &ones, 1)?.into_flat();
        return Ok(Column::Const { value, len: n_rows });
    }
    let mut found = set.find(needles, n_rows);
    if needles.len() > 1 && !expr.null_in {
        // A row with a NULL in it is none of the set's.
        for needle in needles.iter().filter(|needle| may_be_null(needle)) {
            nulls(needle).set_indices().for_each(|row| found[row] = 0);
        }
    }
    if expr.negated {
        found.iter_mut().for_each(|found| *found ^= 1);
    }
    let mut result = Vector::from(found);
    if expr.ty.is_nullable() && !expr.null_in {
        let null = needles.iter().map(nulls).reduce(|a, b| &a | &b);
        let validity = null.map(|null| chalet_columns::NullBuffer::new(!&null));
        result = result.with_nulls(validity.as_ref());
    }
    Ok(Column::Flat(result))
}
