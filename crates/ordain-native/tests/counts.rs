//! C programs have exactly as many classes as the same programs written with the Rust library: one model, one search.

mod common;

#[path = "../../../tests/programs/counts.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used)]
mod library;

use common::{check_of, programs};
use ordain_explore::strategy::Kind as StrategyKind;
use ordain_native::Verdict;
use std::path::Path;

#[test]
fn the_c_programs_have_the_counts_of_the_library() {
    let list: Vec<_> = programs().into_iter().filter(|p| p.file.starts_with("counts/")).collect();
    assert!(list.len() >= 20);
    for program in list {
        let mut check = check_of(&program);
        check.settings.strategy = Some(StrategyKind::Optimal);
        let report = check.run().expect("a verdict");
        assert_eq!(report.verdict, Verdict::Verified, "{} {:?}", program.file, program.args);
        let name = Path::new(&program.file).file_stem().expect("a name").to_string_lossy().into_owned();
        let arguments: Vec<usize> = program.args.iter().map(|a| a.parse().expect("a number")).collect();
        assert_eq!(Some(report.summary.executions), program.classes, "{} {:?}", program.file, program.args);
        assert_eq!(report.summary.blocked, 0);
        let same =
            ordain::Check::new().strategy(ordain::Strategy::Optimal).run(move || library::run(&name, &arguments));
        assert_eq!(report.summary.executions, same.executions, "{} {:?}", program.file, program.args);
    }
}
