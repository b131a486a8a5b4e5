//! raw
#![allow(clippy::print_stdout)]
use ordain_estimation::*;
fn main() {
    let natives = std::env::args().nth(1);
    for w in workloads::all(natives.as_ref().map(std::path::Path::new)) {
        let t = std::time::Instant::now();
        let m = measure(&w);
        print!(
            "{:28} {:8} {:8} {:4} {:6.2}s all {:6.2}s ",
            w.name,
            m.executions,
            m.branches,
            m.depth,
            m.took.as_secs_f64(),
            t.elapsed().as_secs_f64()
        );
        for f in [&m.fixed, &m.beside] {
            for f in f {
                print!(
                    " {:5.1}{}",
                    f.estimate.map_or(0.0, |e| accuracy(e.ln, m.executions as f64)),
                    f.estimate.map_or('-', |e| {
                        if e.low - 1e-9 <= (m.executions as f64).ln() && (m.executions as f64).ln() <= e.high + 1e-9 {
                            'y'
                        } else {
                            'n'
                        }
                    })
                );
            }
            print!(" |");
        }
        println!(); use std::io::Write; std::io::stdout().flush().ok();
    }
}
