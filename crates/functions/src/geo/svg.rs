//! `svg`: geometries as elements of SVG.

use super::shape::{Shape, Shapes, geometry};
use super::{ring, six_digits};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, Geometry};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "svg",
        aliases: &["SVG"],
        summary: "Elements of SVG that draw a geometry: circles, polylines, polygons and paths, with a style if one is given.",
        syntax: "svg(geometry[, style])",
        examples: &[Example {
            sql: "SELECT svg((0., 0.), 'fill:red')",
            result: "<circle cx=\"0\" cy=\"0\" r=\"5\" style=\"fill:red\"/>",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        ensure!(
            (1..=2).contains(&args.len()),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments of function {name}: expected 1 or 2 arguments"
        );
        geometry(&args[0].ty)?;
        ensure!(
            args.get(1).is_none_or(|style| style.ty == DataType::String),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument should be String"
        );
        Ok(DataType::String.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let shapes = Shapes::of(&call.args[0])?;
        let styles = match call.args.len() {
            1 => None,
            _ => Some(StringArg::of(call, 1)?),
        };
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let style = styles.map_or(Default::default(), |styles| String::from_utf8_lossy(styles.get(row)));
            let mut text = String::new();
            if let Some(shape) = shapes.shape(row) {
                shape.check_finite()?;
                draw(&mut text, &shape, &style);
            }
            out.push(text.as_bytes());
        }
        Ok(Vector::from(out.finish()).into())
    },
};

fn draw(out: &mut String, shape: &Shape, style: &str) {
    match shape.geometry {
        Geometry::Point | Geometry::MultiPoint => {
            for (x, y) in shape.points() {
                out.push_str("<circle cx=\"");
                six_digits::put(out, x);
                out.push_str("\" cy=\"");
                six_digits::put(out, y);
                out.push_str(&format!("\" r=\"5\" style=\"{style}\"/>"));
            }
        }
        Geometry::LineString | Geometry::MultiLineString => {
            for line in shape.lists() {
                out.push_str("<polyline points=\"");
                put_points(out, line);
                out.push_str(&format!("\" style=\"{style};fill:none\"/>"));
            }
        }
        Geometry::Ring => {
            for points in shape.lists() {
                out.push_str("<polygon points=\"");
                put_points(out, &ring::corrected(points, true));
                out.push_str(&format!("\" style=\"{style}\"/>"));
            }
        }
        Geometry::Polygon | Geometry::MultiPolygon | Geometry::Any => {
            for rings in &shape.parts {
                out.push_str("<g fill-rule=\"evenodd\"><path d=\"");
                for (number, points) in rings.iter().enumerate() {
                    for (at, (x, y)) in ring::corrected(points, number == 0).into_iter().enumerate() {
                        out.push_str(if at == 0 { "M " } else { " L " });
                        put_pair(out, x, y);
                    }
                }
                out.push_str(&format!(" z \" style=\"{style}\"/></g>"));
            }
        }
    }
}

fn put_pair(out: &mut String, x: f64, y: f64) {
    six_digits::put(out, x);
    out.push(',');
    six_digits::put(out, y);
}

fn put_points(out: &mut String, points: &[ring::Point]) {
    for (at, (x, y)) in points.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { " " });
        put_pair(out, *x, *y);
    }
}
