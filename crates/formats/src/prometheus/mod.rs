//! Prometheus: metrics in the text-based exposition format. Rows of one name that follow each other are one metric.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, Out, OutputFormat, Sink, Statistics, WriteRequest};
use crate::text::text_settings;
use chalet_base::{Result, bail, err};
use chalet_columns::Block;
use chalet_text::{Style, Writer};
use chalet_types::{DataType, Value};

struct Prometheus;

pub const FORMATS: &[Format] = &[Format {
    name: "Prometheus",
    suffixes: &[],
    content_type: "text/plain; version=0.0.4; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, ..Capabilities::NONE },
    input: None,
    output: Some(&Prometheus),
}];

impl OutputFormat for Prometheus {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let text = |ty: &DataType| *ty.bare() == DataType::String;
        let number = |ty: &DataType| ty.bare().is_number() && *ty.bare() != DataType::Bool;
        let labels = |ty: &DataType| match ty {
            DataType::Map(key, value) => text(key) && text(value),
            _ => false,
        };
        let columns = Columns {
            name: required(column(&request, "name", text)?, "name")?,
            value: required(column(&request, "value", number)?, "value")?,
            help: column(&request, "help", text)?,
            kind: column(&request, "type", text)?,
            labels: column(&request, "labels", labels)?,
            timestamp: column(&request, "timestamp", number)?,
        };
        let settings = text_settings(&request.settings, &request.time_zone);
        let writers = request.header.iter().map(|(_, ty)| Writer::new(ty, Style::Plain, &settings)).collect();
        Ok(Box::new(PrometheusWriter { columns, writers, metric: Metric::default(), out: Out::new(sink) }))
    }
}

/// Positions of the columns that the format knows.
struct Columns {
    name: usize,
    value: usize,
    help: Option<usize>,
    kind: Option<usize>,
    labels: Option<usize>,
    timestamp: Option<usize>,
}

fn column(request: &WriteRequest, name: &str, fits: impl Fn(&DataType) -> bool) -> Result<Option<usize>> {
    let Some(position) = request.header.iter().position(|c| c.0 == name) else { return Ok(None) };
    let ty = &request.header[position].1;
    if !fits(ty) {
        bail!(BAD_ARGUMENTS, "Illegal type '{ty}' of column '{name}' for output format 'Prometheus'");
    }
    Ok(Some(position))
}

fn required(position: Option<usize>, name: &str) -> Result<usize> {
    position.ok_or_else(|| err!(BAD_ARGUMENTS, "Column '{name}' is required for output format 'Prometheus'"))
}

/// One line of a metric.
#[derive(Clone)]
struct Sample {
    value: String,
    labels: Vec<(String, String)>,
    timestamp: String,
}

impl Sample {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|label| label.0 == name).map(|label| label.1.as_str())
    }
}

#[derive(Default)]
struct Metric {
    name: String,
    help: String,
    kind: String,
    samples: Vec<Sample>,
}

struct PrometheusWriter {
    columns: Columns,
    writers: Vec<Writer>,
    metric: Metric,
    out: Out,
}

impl PrometheusWriter {
    /// The text of a value; nothing for NULL.
    fn text(&self, block: &Block, column: Option<usize>, row: usize) -> String {
        let Some(column) = column.filter(|column| !block.column(*column).is_null(row)) else {
            return String::new();
        };
        let (vector, row) = block.column(column).locate(row);
        let mut text = Vec::new();
        self.writers[column].write(&mut text, vector, row);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn labels(&self, block: &Block, row: usize) -> Vec<(String, String)> {
        let Some(column) = self.columns.labels else { return Vec::new() };
        let Value::Array(pairs) = block.column(column).value(row) else { return Vec::new() };
        let text = |value: &Value| String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned();
        let pair = |pair: &Value| match pair {
            Value::Tuple(pair) => pair.iter().map(text).collect::<Vec<_>>().try_into().ok(),
            _ => None,
        };
        let pairs = pairs.iter().filter_map(pair);
        let mut labels: Vec<_> = pairs.map(|[key, value]: [String; 2]| (key, value)).collect();
        labels.sort();
        labels.dedup_by(|a, b| a.0 == b.0);
        labels
    }

    fn flush_metric(&mut self) {
        let mut metric = std::mem::take(&mut self.metric);
        let out = &mut self.out.text;
        if metric.name.is_empty() || metric.samples.is_empty() {
            return;
        }
        for (title, text) in [("HELP", &metric.help), ("TYPE", &metric.kind)] {
            if !text.is_empty() {
                out.extend_from_slice(format!("# {title} {} {text}\n", metric.name).as_bytes());
            }
        }
        let buckets = matches!(metric.kind.as_str(), "histogram" | "summary");
        if buckets {
            fix_buckets(&mut metric);
        }
        for sample in &metric.samples {
            out.extend_from_slice(metric.name.as_bytes());
            let part = ["sum", "count"].into_iter().find(|part| buckets && sample.label(part).is_some());
            match part {
                Some(part) => out.extend_from_slice(format!("_{part}").as_bytes()),
                None if metric.kind == "histogram" => out.extend_from_slice(b"_bucket"),
                None => {}
            }
            let shown = sample.labels.iter().filter(|label| part != Some(label.0.as_str()));
            for (i, (name, value)) in shown.clone().enumerate() {
                out.push(if i == 0 { b'{' } else { b',' });
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"=\"");
                for byte in value.bytes() {
                    match byte {
                        b'\n' => out.extend_from_slice(b"\\n"),
                        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                        other => out.push(other),
                    }
                }
                out.push(b'"');
            }
            if shown.count() > 0 {
                out.push(b'}');
            }
            out.push(b' ');
            out.extend_from_slice(
                match sample.value.as_str() {
                    "nan" => "NaN",
                    "inf" => "+Inf",
                    "-inf" => "-Inf",
                    other => other,
                }
                .as_bytes(),
            );
            if !sample.timestamp.is_empty() && sample.timestamp != "0" {
                out.push(b' ');
                out.extend_from_slice(sample.timestamp.as_bytes());
            }
            out.push(b'\n');
        }
        out.push(b'\n');
    }
}

/// Buckets in their order, then sum and count; of a histogram, the last bucket and the count stand for each other.
fn fix_buckets(metric: &mut Metric) {
    let bound = if metric.kind == "histogram" { "le" } else { "quantile" };
    let rank = |sample: &Sample| {
        let place = match (sample.label("sum"), sample.label("count")) {
            (Some(_), _) => 1,
            (_, Some(_)) => 2,
            _ => 0,
        };
        let bound =
            sample.label(bound).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NEG_INFINITY);
        (place, bound)
    };
    metric.samples.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    if metric.kind != "histogram" {
        return;
    }
    let last = metric.samples.iter().find(|sample| sample.label("le") == Some("+Inf")).cloned();
    let count = metric.samples.iter().find(|sample| sample.label("count").is_some()).cloned();
    let other = |sample: Sample, name: &str, value: &str| Sample {
        labels: vec![(name.to_string(), value.to_string())],
        ..sample
    };
    match (last, count) {
        (Some(last), None) => metric.samples.push(other(last, "count", "")),
        (None, Some(count)) => metric.samples.push(other(count, "le", "+Inf")),
        _ => {}
    }
}

impl BlockWriter for PrometheusWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        for row in 0..block.n_rows() {
            let name = self.text(block, Some(self.columns.name), row);
            if name != self.metric.name {
                self.flush_metric();
                self.metric.name = name;
            }
            // The first text that is not empty speaks for the metric.
            if self.metric.help.is_empty() {
                self.metric.help = self.text(block, self.columns.help, row).replace('\n', " ");
            }
            if self.metric.kind.is_empty() {
                self.metric.kind = self.text(block, self.columns.kind, row);
            }
            let sample = Sample {
                value: self.text(block, Some(self.columns.value), row),
                labels: self.labels(block, row),
                timestamp: self.text(block, self.columns.timestamp, row),
            };
            self.metric.samples.push(sample);
            self.out.settle()?;
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.flush_metric();
        self.out.close()
    }
}
