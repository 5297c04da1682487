//! Approximate counts and samples over many values: the kernel's answers, to the last digit.

use chalet_aggregates::{register, resolve};
use chalet_columns::{Strings, Vector};
use chalet_function_api::{Argument, Context, Registry};
use chalet_types::{DataType, Value};

fn answer(name: &str, parameters: &[Value], args: Vec<(DataType, Vector)>) -> Value {
    let mut registry = Registry::default();
    register(&mut registry);
    let arguments: Vec<Argument> = args.iter().map(|(ty, _)| Argument::of_type(ty.clone())).collect();
    let vectors: Vec<Vector> = args.into_iter().map(|(_, vector)| vector).collect();
    let resolved = resolve(&registry, name, parameters, &arguments, &Context::default()).unwrap().unwrap();
    let mut states = resolved.aggregate.states();
    states.grow(1);
    states.add(0, &vectors, 0..vectors[0].len()).unwrap();
    states.finish(1).unwrap().value(0)
}

fn numbers(n: u64) -> (DataType, Vector) {
    (DataType::UInt64, (0..n).collect::<Vec<u64>>().into())
}

fn texts(n: u64) -> (DataType, Vector) {
    (DataType::String, (0..n).map(|x| x.to_string()).collect::<Strings>().into())
}

fn thirds(n: u64) -> (DataType, Vector) {
    (DataType::Float64, (0..n).map(|x| x as f64 / 3.0).collect::<Vec<f64>>().into())
}

/// `SELECT name(number) FROM numbers(n)`.
fn count(name: &str, n: u64) -> u64 {
    answer(name, &[], vec![numbers(n)]).as_u64().unwrap()
}

#[test]
fn counts_of_numbers() {
    let cases = [
        (16, [16, 16, 16, 16]),
        (17, [17, 17, 15, 17]),
        (1000, [1000, 1000, 973, 1000]),
        (60_000, [60_000, 60_163, 58_611, 60_163]),
        (100_000, [100_315, 100_314, 101_344, 100_314]),
        (1_000_000, [1_001_943, 1_001_148, 1_008_797, 1_001_148]),
    ];
    for (n, expected) in cases {
        let got = ["uniq", "uniqCombined", "uniqHLL12", "uniqCombined64"].map(|name| count(name, n));
        assert_eq!(got, expected, "of {n} numbers");
    }
    let twelve = answer("uniqCombined", &[Value::UInt(12)], vec![numbers(1_000_000)]);
    assert_eq!(twelve, Value::UInt(1_004_992));
}

#[test]
fn counts_of_other_types() {
    let count = |name: &str, args| answer(name, &[], args).as_u64().unwrap();
    let n = 200_000;
    assert_eq!(count("uniq", vec![thirds(n)]), 200_696);
    assert_eq!(count("uniqCombined", vec![thirds(n)]), 200_170);
    assert_eq!(count("uniq", vec![texts(n)]), 200_384);
    assert_eq!(count("uniqHLL12", vec![texts(n)]), 201_611);
    assert_eq!(count("uniqCombined", vec![texts(n)]), 199_866);
    assert_eq!(count("uniq", vec![numbers(n), numbers(n)]), 200_397);
    assert_eq!(count("uniqCombined", vec![numbers(n), numbers(n)]), 200_817);
    let ones = || (DataType::UInt8, Vector::from(vec![1u8; n as usize]));
    assert_eq!(count("uniq", vec![texts(n), ones()]), 200_717);
    assert_eq!(count("uniqHLL12", vec![texts(n), ones()]), 198_837);
    assert_eq!(count("uniqCombined", vec![texts(n), ones()]), 200_273);
    assert_eq!(count("uniqHLL12", vec![numbers(n), numbers(n)]), 202_598);
}

#[test]
fn samples() {
    let levels = [0.1, 0.5, 0.9, 0.999].map(Value::Float);
    let list = |values: &[f64]| Value::Array(values.iter().map(|&x| Value::Float(x)).collect());
    assert_eq!(
        answer("quantiles", &levels, vec![numbers(10_000)]),
        list(&[984.1, 4955.0, 9001.900000000001, 9984.809000000001])
    );
    assert_eq!(
        answer("quantiles", &levels, vec![numbers(100_000)]),
        list(&[9841.1, 50501.5, 89924.70000000001, 99901.551])
    );
    assert_eq!(
        answer("quantilesDeterministic", &levels, vec![numbers(20_000), numbers(20_000)]),
        list(&[2134.4, 10232.0, 18070.6, 19974.551999999996])
    );
    assert_eq!(
        answer("quantilesTiming", &levels, vec![numbers(40_000)]),
        list(&[3977.0, 19989.0, 30000.0, 30000.0])
    );
    let ints = |values: &[u64]| Value::Array(values.iter().map(|&x| Value::UInt(x)).collect());
    let seeded = |seed| answer("groupArraySample", &[Value::UInt(3), Value::UInt(seed)], vec![numbers(20)]);
    assert_eq!(seeded(7), ints(&[8, 12, 2]));
    assert_eq!(seeded(123_456), ints(&[19, 1, 8]));
}

#[test]
fn mann_whitney() {
    let test = |values: [f64; 6], parameters: &[Value]| {
        let values = (DataType::Float64, Vector::from(values.to_vec()));
        let samples = (DataType::UInt8, Vector::from(vec![0u8, 0, 0, 1, 1, 1]));
        match answer("mannWhitneyUTest", parameters, vec![values, samples]) {
            Value::Tuple(fields) => (fields[0].as_f64().unwrap(), fields[1].as_f64().unwrap()),
            other => panic!("{other:?}"),
        }
    };
    let check = |got: (f64, f64), u: f64, p: f64| {
        assert_eq!(got.0, u);
        assert!((got.1 - p).abs() < 1e-12, "{} instead of {p}", got.1);
    };
    let apart = [10.0, 11.0, 12.0, 1.0, 2.0, 3.0];
    check(test(apart, &[]), 9.0, 0.0808555983700523);
    check(test(apart, &["greater".into()]), 9.0, 0.04042779918502615);
    check(test(apart, &["two-sided".into(), Value::UInt(0)]), 9.0, 0.049534613435626706);
    let tied = [10.0, 11.0, 12.0, 1.0, 12.0, 3.0];
    check(test(tied, &[]), 6.5, 0.5065551690490404);
    check(test(tied, &["less".into()]), 6.5, 0.8658570581614413);
}
