//! Functions that say of themselves that they never fall do not, over all dates and around changes of clocks; and the loops over
//! moments of one offset give what they give one by one.

use chalet_columns::{Column, Vector};
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Context, Registry};
use chalet_types::{DataType, TimeZone};
use std::cmp::Ordering;

const ZONES: [&str; 9] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Africa/Monrovia",
    "Pacific/Apia",
    "Asia/Tehran",
];

fn registry() -> Registry {
    let mut registry = Registry::default();
    chalet_functions::register(&mut registry);
    registry
}

fn context(zone: &str) -> Context {
    Context { time_zone: TimeZone::named(zone).unwrap(), ..Context::default() }
}

fn run(bound: &BoundFunction, values: Vector, ctx: &Context) -> Vector {
    let n = values.len();
    bound.execute(vec![Input::Column(Column::Flat(values))], n, ctx).unwrap().into_flat()
}

fn rises(values: &Vector) -> bool {
    (1..values.len()).all(|row| values.value(row - 1).compare(&values.value(row)) != Ordering::Greater)
}

/// Moments around all changes of a clock and the ends of what a DateTime holds, ascending.
fn moments(zone: &TimeZone) -> Vec<u32> {
    let changes = zone.offset_spans().iter().map(|span| span.0);
    let around = changes.chain([0, u32::MAX.into(), 1_700_000_000]).filter(|at| (0..1 << 33).contains(at));
    let all = around.flat_map(|at| (-200i64..200).map(move |step| at + step * 907));
    let mut all: Vec<u32> = all.filter_map(|at| u32::try_from(at).ok()).collect();
    all.extend([0, 1, u32::MAX - 1, u32::MAX]);
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn what_never_falls_does_not() {
    let registry = registry();
    let (mut n_dates, mut n_moments) = (0, 0);
    for zone in ZONES {
        let ctx = context(zone);
        let moments = moments(&ctx.time_zone);
        for function in registry.scalars.all() {
            let name = function.record().name;
            for ty in [DataType::Date, DataType::DateTime(None)] {
                let Ok(bound) = BoundFunction::bind(function.clone(), &[Argument::of_type(ty.clone())], &ctx)
                else {
                    continue;
                };
                if !bound.never_falls(&ctx) {
                    continue;
                }
                let results = if ty == DataType::Date {
                    n_dates += 1;
                    run(&bound, Vector::from((0..=u16::MAX).collect::<Vec<u16>>()), &ctx)
                } else {
                    n_moments += 1;
                    run(&bound, Vector::from(moments.clone()), &ctx)
                };
                assert!(rises(&results), "{name} of {ty} in {zone}");
            }
        }
    }
    assert!(n_dates > 50 && n_moments > 50, "{n_dates} {n_moments}");
}

#[test]
fn many_moments_are_as_each_alone() {
    let registry = registry();
    let names = [
        "toYYYYMM",
        "toDate",
        "toStartOfMonth",
        "toMonday",
        "toDayOfWeek",
        "toHour",
        "toMinute",
        "toStartOfDay",
        "toStartOfHour",
        "toStartOfMinute",
        "toStartOfFiveMinutes",
        "toStartOfTenMinutes",
        "toStartOfFifteenMinutes",
        "toYYYYMMDDhhmmss",
    ];
    for zone in ZONES {
        let ctx = context(zone);
        let moments = moments(&ctx.time_zone);
        let far: Vec<i64> = moments.iter().map(|&x| i64::from(x) * 1000 - 1_000_000_000_001).collect();
        for name in names {
            let function = registry.called(name).unwrap();
            let bind = |ty| BoundFunction::bind(function.clone(), &[Argument::of_type(ty)], &ctx).unwrap();
            let bound = bind(DataType::DateTime(None));
            let all = run(&bound, Vector::from(moments.clone()), &ctx);
            for row in (0..moments.len()).step_by(7) {
                let one = run(&bound, Vector::from(vec![moments[row]]), &ctx);
                // A moment alone is of one offset: a second one from far away makes it go the other way.
                let pair = run(&bound, Vector::from(vec![moments[row], moments[row] ^ 0x4000_0000]), &ctx);
                assert_eq!(all.value(row), one.value(0), "{name} of {} in {zone}", moments[row]);
                assert_eq!(all.value(row), pair.value(0), "{name} of {} in {zone}", moments[row]);
            }
            let bound = bind(DataType::DateTime64(3, None));
            let all = run(&bound, Vector::from(far.clone()), &ctx);
            for row in (0..far.len()).step_by(7) {
                let pair = run(&bound, Vector::from(vec![far[row], far[row] ^ (1 << 40)]), &ctx);
                assert_eq!(all.value(row), pair.value(0), "{name} of {} ms in {zone}", far[row]);
            }
        }
    }
}
