//! What comes from other processes is recorded: it is the same in every execution of a schedule, and in replays.

mod common;

use common::{Program, check, compile};
use ordain_explore::strategy::{Kind as StrategyKind, Optimal};
use ordain_explore::{Target, class_of, search};
use ordain_native::{Check, Kind, Mode, Native, Verdict};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};

/// A server whose answers are never the same; its port.
fn serve() -> u16 {
    static ANSWERS: AtomicU32 = AtomicU32::new(0);
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut question = [0];
                while let Ok(1) = stream.read(&mut question) {
                    let answer = format!("{:08}", ANSWERS.fetch_add(1, Ordering::Relaxed));
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// A check of the client, which fails in some schedules if wanted.
fn client(port: u16, fails: bool) -> Check {
    let program = Program {
        file: "outside/client.c".into(),
        language: "c".into(),
        args: Vec::new(),
        flags: Vec::new(),
        libs: Vec::new(),
        libraries: Vec::new(),
        loads: Vec::new(),
        expect: String::new(),
        option: None,
        why: String::new(),
        classes: None,
        atomics: false,
        sample: false,
        stdin: None,
    };
    let mut check = check(&compile(&program), &[port.to_string(), u8::from(fails).to_string()]);
    check.settings.strategy = Some(StrategyKind::Optimal);
    check.settings.max_executions = Some(1000);
    check
}

#[test]
fn answers_come_again_in_every_mode() {
    let port = serve();
    for mode in [Mode::Snapshot, Mode::Fork, Mode::Exec] {
        let check = client(port, false);
        let mut native = Native::new(check.launch.clone(), check.options(), Some(mode), check.program.patience())
            .expect("a program that starts");
        let mut seen = BTreeMap::new();
        // The second round begins anew, and must show what the first has shown, class by class.
        for round in 0..2 {
            search(&mut native, &mut Optimal::default(), &mut |native, _| {
                assert!(native.failure().is_none(), "{:?}", native.failure());
                let (class, output) = (class_of(native.execution()), native.output(0));
                assert!(output.len() > 16, "{} mode: {:?}", mode.name(), native.aftermath());
                match round {
                    0 => assert!(seen.insert(class, output).is_none()),
                    _ => assert_eq!(seen.get(&class), Some(&output), "{} mode", mode.name()),
                }
                ControlFlow::Continue(())
            });
        }
        assert!(seen.len() > 1, "the order of questions matters");
    }
}

#[test]
fn a_finding_is_replayed_with_the_answers_that_led_to_it() {
    let port = serve();
    let check = client(port, true);
    let report = check.run().expect("a verdict");
    assert_eq!(report.verdict, Verdict::Finding, "{:?}", report.notes);
    let found = &report.findings[0];
    assert_eq!(found.story.kind, Kind::Assertion);
    assert!(found.story.outputs[0].len() > 16, "{found}");
    for _ in 0..3 {
        let replayed = check.replay(&found.schedule).expect("a replay");
        assert!(replayed.departure.is_none());
        let finding = replayed.finding.expect("the finding shows again");
        assert_eq!(finding.story.kind, Kind::Assertion);
        assert_eq!(finding.story.outputs, found.story.outputs);
    }
}
