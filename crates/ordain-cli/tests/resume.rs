//! A search that is killed at any moment goes on with `--resume`, and explores every class once.
//!
//! `ORDAIN_KILLS` sets how often it is killed in all (10 unless told).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{compile, source};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Classes of three threads that lock and unlock four times.
const CLASSES: u64 = 34_650;

fn start(program: &Path, run: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.args(["check", "--quiet", "--format", "json", "--workers", "2", "--slice", "1ms", "--run-dir"]).arg(run);
    if run.join("checkpoint").exists() {
        command.arg("--resume");
    }
    command.arg("--").arg(program).args(["3", "4"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_search_that_is_killed_again_and_again_explores_every_class_once() {
    let wanted: u32 = std::env::var("ORDAIN_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), &source("counts/mutex_counter.c"), "mutex_counter", &[]);
    let (mut kills, mut round, mut random) = (0, 0, 1u64);
    while kills < wanted {
        round += 1;
        let run = directory.path().join(format!("run-{round}"));
        let result = loop {
            let mut child = start(&program, &run);
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Nothing depends on the time: whenever it comes, it must do no harm.
            std::thread::sleep(Duration::from_millis(20 + (random >> 33) % 700));
            if let Some(status) = child.try_wait().unwrap() {
                let output = child.wait_with_output().unwrap();
                assert!(status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                break serde_json::from_slice::<Value>(&output.stdout).unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        };
        assert_eq!(result["verdict"], "verified");
        assert_eq!(result["executions"], CLASSES);
        assert_eq!(result["blocked"], 0);
        let left: Vec<_> = std::fs::read_dir(&run).unwrap().map(|e| e.unwrap().file_name()).collect();
        let expected =
            |name: &std::ffi::OsString| name == "run.json" || name.to_string_lossy().starts_with(".ordain-partial-");
        assert!(left.iter().all(expected), "{left:?}");
    }
}
