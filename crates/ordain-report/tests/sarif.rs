//! SARIF: read back as its types, and held against what the standard and its readers demand.

mod common;

use ordain_report::{Kind, Run, Story, Unchecked, sarif};
use serde_json::Value;
use std::path::Path;

fn root() -> Option<&'static Path> {
    Some(Path::new(common::ROOT))
}

/// The log as a value, after it was found valid.
fn log(runs: &[Run]) -> Value {
    let text = sarif::render(runs, root());
    let typed: serde_sarif::sarif::Sarif = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    // What the types do not know would be lost here.
    let again = serde_json::to_value(&typed).expect("it can be written again");
    assert_eq!(keys(&again), keys(&value));
    validate(&value);
    value
}

/// Every path of keys in a value.
fn keys(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, all: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| walk(value, &format!("{path}/{key}"), all)),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(i, value)| walk(value, &format!("{path}/{i}"), all))
            }
            _ => all.push(path.to_owned()),
        }
    }
    let mut all = Vec::new();
    walk(value, "", &mut all);
    all.sort();
    all
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// What the standard says with "shall", and what code scanning demands beyond it.
fn validate(log: &Value) {
    assert_eq!(text(log, "version"), "2.1.0");
    assert!(text(log, "$schema").contains("sarif-2.1.0"));
    assert_eq!(list(log, "runs").len(), 1, "readers take one run of each tool");
    let run = &log["runs"][0];
    let rules = list(&run["tool"]["driver"], "rules");
    let mut ids: Vec<&str> = rules.iter().map(|rule| text(rule, "id")).collect();
    for rule in rules {
        assert!(text(rule, "id").starts_with("ORDAIN-"));
        assert!(text(rule, "name").bytes().all(|b| b.is_ascii_alphanumeric()));
        for part in ["shortDescription", "fullDescription", "help"] {
            assert!(!text(&rule[part], "text").is_empty());
        }
        assert!(!text(&rule["help"], "markdown").is_empty());
        assert!(text(&rule["shortDescription"], "text").len() <= 1024);
        assert!(["error", "warning"].contains(&text(&rule["defaultConfiguration"], "level")));
        assert!(rule.get("helpUri").is_none());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), Kind::ALL.len());
    assert!(run["results"].is_array(), "no results are an empty list");
    for invocation in list(run, "invocations") {
        assert!(invocation["executionSuccessful"].is_boolean());
    }
    for result in list(run, "results") {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("an index")];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(rule["defaultConfiguration"]["level"], result["level"]);
        assert!(!text(&result["message"], "text").is_empty());
        assert_eq!(list(result, "locations").len(), 1);
        assert_eq!(text(&result["partialFingerprints"], "ordainFinding/v1").len(), 32);
        let index = result["provenance"]["invocationIndex"].as_u64().expect("a number");
        assert!(usize::try_from(index).is_ok_and(|index| index < list(run, "invocations").len()));
        for location in list(result, "locations").iter().chain(list(result, "relatedLocations")) {
            validate_location(location);
        }
        for flow in list(result, "codeFlows").iter().flat_map(|flow| list(flow, "threadFlows")) {
            assert!(!list(flow, "locations").is_empty());
            let mut last = 0;
            for place in list(flow, "locations") {
                validate_location(&place["location"]);
                let order = place["executionOrder"].as_u64().expect("a number");
                assert!(order > last, "steps of a thread are in order");
                last = order;
                assert!(place["nestingLevel"].as_u64().is_some());
                assert!(["essential", "important", "unimportant"].contains(&text(place, "importance")));
            }
        }
        for frame in list(result, "stacks").iter().flat_map(|stack| list(stack, "frames")) {
            let physical = &frame["location"]["physicalLocation"];
            assert!(
                physical.is_null() || physical.get("address").is_some() || physical.get("artifactLocation").is_some()
            );
        }
    }
}

fn validate_location(location: &Value) {
    let artifact = &location["physicalLocation"]["artifactLocation"];
    let uri = text(artifact, "uri");
    assert!(uri.bytes().all(|b| b.is_ascii_graphic()) && !uri.contains(['\\', '<', '>', '"', '{', '}', '|', '^', '`']));
    match artifact.get("uriBaseId") {
        Some(base) => {
            assert_eq!(base, "%SRCROOT%");
            assert!(!uri.starts_with('/') && !uri.contains(':'), "{uri} is relative");
        }
        None => assert!(uri.starts_with("file:///"), "{uri}"),
    }
    if let Some(region) = location["physicalLocation"].get("region") {
        assert!(region["startLine"].as_u64().is_some_and(|line| line > 0));
        assert!(region.get("startColumn").is_none_or(|column| column.as_u64().is_some_and(|column| column > 0)));
    }
}

fn only_result(story: Story) -> Value {
    log(&[common::found(vec![story])])["runs"][0]["results"][0].clone()
}

#[test]
fn all_runs_make_one_valid_log() {
    let log = log(&common::runs());
    let results = list(&log["runs"][0], "results");
    let found: Vec<_> =
        results.iter().map(|r| (text(r, "ruleId"), r["provenance"]["invocationIndex"].as_u64())).collect();
    assert_eq!(found, [("ORDAIN-DEADLOCK", Some(0)), ("ORDAIN-OUTPUT", Some(0)), ("ORDAIN-DATA-RACE", Some(1))]);
    let verdicts: Vec<_> =
        list(&log["runs"][0], "invocations").iter().map(|i| text(&i["properties"], "verdict").to_owned()).collect();
    assert_eq!(verdicts, ["finding", "finding", "verified", "no finding"]);
}

#[test]
fn a_deadlock_is_where_its_cycle_waits() {
    let result = only_result(common::deadlock());
    let location = &result["locations"][0];
    assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "src/transfer.c");
    assert_eq!(location["physicalLocation"]["region"]["startLine"], 13);
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "move");
    let related: Vec<_> = list(&result, "relatedLocations").iter().map(|l| text(&l["message"], "text")).collect();
    assert_eq!(
        related,
        [
            "main waits for main.1 to end",
            "main.1 waits to lock accounts[1].lock, held by main.2",
            "main.2 waits to lock accounts[0].lock, held by main.1",
            "main.1 took accounts[0].lock",
            "main.2 took accounts[1].lock",
        ]
    );
    let flows = list(&result["codeFlows"][0], "threadFlows");
    let steps: Vec<(&str, Vec<u64>)> = flows
        .iter()
        .map(|flow| {
            (text(flow, "id"), list(flow, "locations").iter().filter_map(|l| l["executionOrder"].as_u64()).collect())
        })
        .collect();
    assert_eq!(steps, [("main", vec![1, 2]), ("main.1", vec![3]), ("main.2", vec![4])]);
    assert_eq!(flows[1]["locations"][0]["kinds"], serde_json::json!(["acquire", "lock"]));
    let stacks = list(&result, "stacks");
    assert_eq!(text(&stacks[1]["message"], "text"), "main.1, about to lock accounts[1].lock");
    let inner = &stacks[1]["frames"][0];
    assert_eq!(inner["location"]["physicalLocation"]["address"]["relativeAddress"], 0x8_fee4);
    assert_eq!(inner["module"], "libc.so.6");
}

#[test]
fn a_race_is_at_its_later_access_and_names_both() {
    let result = only_result(common::race());
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 12);
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "src/counter.rs");
    let related: Vec<_> = list(&result, "relatedLocations").iter().map(|l| text(&l["message"], "text")).collect();
    assert_eq!(related, ["main.1 (writer) writes counter", "main writes counter"]);
}

#[test]
fn the_nesting_of_a_step_is_the_locks_that_its_thread_holds() {
    let result = only_result(common::output());
    let main = &result["codeFlows"][0]["threadFlows"][0];
    let levels: Vec<_> = list(main, "locations").iter().filter_map(|l| l["nestingLevel"].as_u64()).collect();
    assert_eq!(levels, [0, 1], "lock, unlock");
}

#[test]
fn of_many_steps_those_that_matter_and_the_last_ones_stay() {
    let mut story = common::deadlock();
    let step = story.steps[2].clone();
    story.steps = (0..5_000)
        .map(|number| ordain_report::Step { number, matters: number == 7, thread: number % 3, ..step.clone() })
        .collect();
    let result = only_result(story.clone());
    let orders = |result: &Value| {
        let flows = list(&result["codeFlows"][0], "threadFlows").to_vec();
        let locations = flows.iter().flat_map(|flow| list(flow, "locations").to_vec()).collect::<Vec<_>>();
        let mut all: Vec<u64> = locations.iter().filter_map(|l| l["executionOrder"].as_u64()).collect();
        all.sort_unstable();
        all
    };
    let kept = orders(&result);
    assert_eq!((kept.len(), kept[0], kept[1], kept[999]), (1_000, 8, 4_002, 5_000));
    story.steps.iter_mut().for_each(|step| step.matters = true);
    assert_eq!(orders(&only_result(story)).len(), 1_000);
}

#[test]
fn the_users_own_sources_come_first() {
    let mut story = common::bare(Kind::Crash, "main got SIGSEGV");
    let at = |file: &str| Some(ordain_report::Place { file: file.to_owned(), line: 7, column: 0, text: None });
    story.threads = vec![ordain_report::Thread {
        name: "main".to_owned(),
        culprit: true,
        frames: vec![
            common::frame("memcpy", at("/usr/include/string.h"), "libc.so.6", 1),
            common::frame("push", at("/home/user/bank/vec.c"), "bank", 2),
        ],
        ..Default::default()
    }];
    let uri = |story: &Story| {
        let location = &only_result(story.clone())["locations"][0]["physicalLocation"]["artifactLocation"];
        text(location, "uri").to_owned()
    };
    assert_eq!(uri(&story), "vec.c");
    story.threads[0].frames.pop();
    assert_eq!(uri(&story), "file:///usr/include/string.h");
    story.threads[0].frames.pop();
    assert_eq!(uri(&story), "transfer", "the program, if nothing else is known");
    story.schedule = Some("/home/user/bank/.ordain/a/finding-1.ordain".to_owned());
    assert_eq!(uri(&story), ".ordain/a/finding-1.ordain");
}

#[test]
fn fingerprints_are_of_the_defect_and_not_of_the_schedule() {
    let print = |story: Story| only_result(story)["partialFingerprints"]["ordainFinding/v1"].clone();
    let usual = print(common::deadlock());
    // Found in another order, with other steps, and with main elsewhere.
    let mut other = common::deadlock();
    other.steps.remove(0);
    other.headline.push_str(" again");
    if let Some(waiting) = &mut other.waiting {
        waiting.cycle = vec![2, 1];
        waiting.waiters.remove(0);
        waiting.waiters.reverse();
    }
    assert_eq!(print(other), usual);
    // The same line further down in the file.
    let mut moved = common::deadlock();
    for waiter in moved.waiting.iter_mut().flat_map(|waiting| &mut waiting.waiters) {
        waiter.place.iter_mut().for_each(|place| place.line += 100);
    }
    assert_eq!(print(moved), usual);
    // The accesses of a race the other way round.
    let mut turned = common::race();
    turned.race.iter_mut().for_each(|race| race.accesses.reverse());
    assert_eq!(print(turned), print(common::race()));
    // Another kind, or another place, is another defect.
    assert_ne!(print(Story { kind: Kind::Livelock, ..common::deadlock() }), usual);
    assert_ne!(print(common::race()), usual);
    assert_ne!(print(common::bare(Kind::Crash, "a")), print(common::bare(Kind::Crash, "b")));
}

#[test]
fn no_verdict_is_an_invocation_that_failed() {
    let unchecked =
        Unchecked { program: "./x".to_owned(), message: "is a script".to_owned(), help: Some("sh".to_owned()) };
    let text = sarif::render_with(&[], &[unchecked], None);
    let log: Value = serde_json::from_str(&text).expect("it is JSON");
    validate(&log);
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["toolExecutionNotifications"][0]["message"]["text"], "is a script\nsh");
}

#[test]
fn hostile_text_makes_a_valid_log() {
    let result = log(&[common::hostile()])["runs"][0]["results"][0].clone();
    assert!(text(&result["message"], "text").contains(common::HOSTILE));
    assert!(result["locations"][0]["physicalLocation"].get("region").is_none(), "there is no line 0");
    let linked = only_result(common::bare(Kind::Crash, "see [here](https://example.org)"));
    assert_eq!(linked["message"]["text"], "see [here] (https://example.org)");
}
