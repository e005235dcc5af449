//! The ratios as a plot: one group of bars per kernel on a logarithmic axis, native C at 1.

use crate::measure::Row;
use crate::report::COLUMNS;
use std::fmt::Write;

const COLOURS: [&str; 4] = ["#1b7837", "#762a83", "#9e9e9e", "#e08214"];
const LEFT: f64 = 130.0;
const WIDTH: f64 = 640.0;
const BAR: f64 = 9.0;
const TOP: f64 = 56.0;

/// Drawn from 1/10 to 100.
fn x(ratio: f64) -> f64 {
    LEFT + WIDTH * (ratio.clamp(0.1, 100.0).log10() + 1.0) / 3.0
}

/// The picture.
pub fn svg(rows: &[Row]) -> String {
    let group = BAR * COLUMNS.len() as f64 + 10.0;
    let bottom = TOP + group * rows.len() as f64;
    let (width, height) = (LEFT + WIDTH + 50.0, bottom + 30.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"13\">Time, native C = 1 (smaller is better)</text>\n"
    );
    for (i, (name, colour)) in COLUMNS.iter().zip(COLOURS).enumerate() {
        let at = LEFT + 90.0 * i as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{at}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"37\">{name}</text>",
            at + 14.0
        );
    }
    for tick in [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] {
        let (at, stroke) = (x(tick), if tick == 1.0 { "black" } else { "#dddddd" });
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"{stroke}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
            bottom + 15.0
        );
    }
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + group * i as f64 + 5.0;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + group / 2.0 - 1.0,
            row.name
        );
        for (j, (name, colour)) in COLUMNS.iter().zip(COLOURS).enumerate() {
            let Some(&ratio) = row.ratios.get(name) else { continue };
            // Bars begin at 1: to the left faster than native C, to the right slower.
            let (from, to) = (x(ratio.min(1.0)), x(ratio.max(1.0)));
            let top = y + BAR * j as f64;
            let _ = writeln!(
                out,
                "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"8\">{ratio:.2}</text>",
                (to - from).max(1.0),
                BAR - 1.0,
                x(ratio.max(1.0)) + 3.0,
                top + BAR - 2.0
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
