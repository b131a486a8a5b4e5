//! Small workloads, fast enough for every test run: estimates stay as good as they are.

use ordain_estimation::report::{Of, rows};
use ordain_estimation::{measure, workloads};

#[test]
fn foresight_is_better_than_every_combination() {
    let measured: Vec<_> = workloads::small().iter().map(measure).collect();
    let rows = rows(&measured, Of::Executions);
    let at_a_tenth = |row: &ordain_estimation::report::Row| row.means[2];
    let own = at_a_tenth(&rows[0]);
    assert_eq!(own.failures, 0);
    assert!(own.harmonic > 85.0, "{own:?}");
    for other in rows.iter().skip(2).filter(|row| row.online) {
        assert!(own.harmonic > at_a_tenth(other).harmonic, "{} is better: {other:?}", other.name);
    }
}
