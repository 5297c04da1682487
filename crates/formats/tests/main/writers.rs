//! What is written is, byte for byte, what the kernel writes.

use crate::corpus::cases;
use chalet_formats::output::Memory;
use chalet_formats::registry::BUILTIN;
use chalet_formats::{FormatSettings, Statistics, WriteRequest};

const NOT_FORMATS: &[&str] = &["native", "types", "totals", "extremes"];

#[test]
fn as_the_kernel_writes() {
    let mut different = Vec::new();
    let mut compared = 0;
    for case in cases() {
        let Some((_, block)) = case.native("native") else { continue };
        let schema = case.schema();
        for (name, expected) in case.pieces.iter().filter(|p| !NOT_FORMATS.contains(&p.0.as_str())) {
            let mut request = WriteRequest::new(schema.clone());
            let settings = FormatSettings { output_format_write_statistics: false, ..Default::default() };
            request.settings = settings.into();
            let memory = Memory::default();
            let format = BUILTIN.get(name).unwrap();
            let mut writer = format.writer(request, Box::new(memory.clone())).unwrap();
            writer.write(&block).unwrap();
            let totals = case.native("totals");
            if let Some((_, totals)) = &totals {
                writer.totals(totals).unwrap();
            }
            if let Some((_, extremes)) = case.native("extremes") {
                writer.extremes(&extremes).unwrap();
            }
            let rows_before_limit = totals.map(|_| 2);
            writer.finish(&Statistics { rows_before_limit, ..Default::default() }).unwrap();
            let written = memory.take();
            compared += 1;
            if written != *expected {
                different.push((format!("{} as {name}", case.name), written, expected.clone()));
            }
        }
    }
    assert!(compared > 500, "only {compared} compared");
    for (what, written, expected) in &different {
        let same = written.iter().zip(expected).take_while(|(a, b)| a == b).count();
        let from = same.saturating_sub(60);
        let show = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[from.min(bytes.len())..(same + 80).min(bytes.len())]).into_owned()
        };
        println!("--- {what}, at byte {same}\nwritten:  {:?}\nexpected: {:?}", show(written), show(expected));
    }
    assert!(different.is_empty(), "{} of {compared} differ", different.len());
}
