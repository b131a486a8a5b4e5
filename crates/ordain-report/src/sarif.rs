//! Findings as SARIF 2.1.0, for code scanning pages and editors.
//!
//! One SARIF run for all checks, because readers take one run of each tool: each check is an invocation, and a result says
//! which one it is of. What a reader refuses is not written: locations without a file, regions without a line, and thread
//! flows without locations.

use crate::explain::{self, code};
use crate::fingerprint;
use crate::kind::Kind;
use crate::places;
use crate::plain;
use crate::run::Run;
use crate::story::{Frame, Hold, Place, Step, Story, Thread};
use crate::unchecked::Unchecked;
use crate::uri::{self, Uri};
use crate::when;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// What relative URIs are relative to.
const BASE: &str = "%SRCROOT%";
/// The name of our fingerprint, with its version.
const FINGERPRINT: &str = "ordainFinding/v1";

/// Steps in the flows of a finding: what code scanning shows; it refuses files with many more.
const MOST_STEPS: usize = 1_000;

/// The findings of the runs as a SARIF log. Files below `root` are named relative to it.
pub fn render(runs: &[Run], root: Option<&Path>) -> String {
    render_with(runs, &[], root)
}

/// The findings of the runs as a SARIF log, with checks that came to no verdict.
pub fn render_with(runs: &[Run], unchecked: &[Unchecked], root: Option<&Path>) -> String {
    let version = runs.first().map_or(env!("CARGO_PKG_VERSION"), |run| run.ordain.as_str());
    let results = runs
        .iter()
        .enumerate()
        .flat_map(|(index, run)| run.findings.iter().map(move |story| result(story, index, root)));
    let invocations = runs.iter().map(invocation).chain(unchecked.iter().map(failed_invocation));
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Ordain",
                "semanticVersion": version,
                "version": version,
                "shortDescription": {"text": "Explores every inequivalent thread schedule of programs."},
                "rules": Kind::ALL.map(rule),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {BASE: {"description": {"text": "The root of the source tree."}}},
            "invocations": invocations.collect::<Vec<_>>(),
            "results": results.collect::<Vec<_>>(),
        }],
    });
    format!("{log:#}\n")
}

/// How bad a finding of that kind is.
fn level(kind: Kind) -> &'static str {
    match kind {
        Kind::StepLimit | Kind::Nondeterminism | Kind::LockHeldAtExit => "warning",
        _ => "error",
    }
}

fn rule(kind: Kind) -> Value {
    let explanation = explain::explain(kind);
    let name: String = kind
        .name()
        .split('-')
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_ascii_uppercase() + rest
        })
        .collect();
    json!({
        "id": code(kind),
        "name": name,
        "shortDescription": {"text": explanation.summary},
        "fullDescription": {"text": explanation.meaning},
        "help": {"text": explanation.text(), "markdown": explanation.markdown()},
        "defaultConfiguration": {"level": level(kind)},
        "properties": {
            "tags": ["concurrency", "correctness"],
            "precision": "very-high",
            "problem.severity": level(kind),
        },
    })
}

/// A check: when it was, and what it came to.
fn invocation(run: &Run) -> Value {
    let mut invocation = json!({
        "executionSuccessful": true,
        "toolExecutionNotifications": [{"level": "note", "message": text(&run.meaning)}],
        "properties": {
            "program": run.program,
            "verdict": run.verdict.name(),
            "level": run.level,
            "mode": run.mode,
            "strategy": run.strategy,
            "executions": run.executions,
            "exhausted": run.exhausted,
            "interrupted": run.interrupted,
            "notes": run.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
        },
    });
    if let Some(began) = when::utc(run.began) {
        invocation["startTimeUtc"] = json!(format!("{began}Z"));
    }
    invocation
}

/// A check that came to no verdict.
fn failed_invocation(unchecked: &Unchecked) -> Value {
    let help = unchecked.help.as_ref().map_or_else(String::new, |help| format!("\n{help}"));
    json!({
        "executionSuccessful": false,
        "toolExecutionNotifications": [
            {"level": "error", "message": text(&format!("{}{help}", unchecked.message))},
        ],
        "properties": {"program": unchecked.program},
    })
}

fn result(story: &Story, invocation: usize, root: Option<&Path>) -> Value {
    let mut message = story.headline.clone();
    for detail in &story.details {
        message.push('\n');
        message.push_str(detail);
    }
    if let Some(command) = plain::replay(story) {
        message.push_str(&format!("\nReplay it with: {command}"));
    }
    let related: Vec<Value> = places::related(story)
        .into_iter()
        .enumerate()
        .map(|(index, (place, what))| {
            let mut location = location(place, root);
            location["id"] = json!(index + 1);
            location["message"] = text(&what);
            location
        })
        .collect();
    let mut result = json!({
        "ruleId": code(story.kind),
        "ruleIndex": Kind::ALL.iter().position(|kind| *kind == story.kind),
        "kind": "fail",
        "level": level(story.kind),
        "message": text(&message),
        "locations": [primary(story, root)],
        "partialFingerprints": {FINGERPRINT: fingerprint(story, root)},
        "provenance": {"invocationIndex": invocation},
        "properties": {
            "program": story.program,
            "level": story.level,
            "schedule": story.schedule,
            "steps": story.length,
            "preemptions": story.size.preemptions,
        },
    });
    for (name, values) in [("relatedLocations", related), ("stacks", stacks(story, root))] {
        if !values.is_empty() {
            result[name] = json!(values);
        }
    }
    let flows = flows(story, root);
    if !flows.is_empty() {
        result["codeFlows"] = json!([{"message": text(&story.headline), "threadFlows": flows}]);
    }
    result
}

/// Where the finding is shown. One whose place is not known is shown at its schedule file, else at the program: readers
/// refuse results without any file.
fn primary(story: &Story, root: Option<&Path>) -> Value {
    match places::primary(story) {
        Some(place) => {
            let mut location = location(place, root);
            if let Some(function) = function_at(story, place) {
                location["logicalLocations"] = json!([{"fullyQualifiedName": function, "kind": "function"}]);
            }
            location
        }
        None => {
            let program = || story.program.split_whitespace().next().unwrap_or("program");
            let file = story.schedule.as_deref().unwrap_or_else(program);
            json!({"physicalLocation": {"artifactLocation": artifact(file, root)}})
        }
    }
}

/// The function of the frame that is at the place.
fn function_at<'a>(story: &'a Story, place: &Place) -> Option<&'a str> {
    let frames = story.threads.iter().flat_map(|thread| &thread.frames);
    frames.filter(|frame| frame.place.as_ref() == Some(place)).find_map(|frame| frame.function.as_deref())
}

fn artifact(file: &str, root: Option<&Path>) -> Value {
    match uri::of_file(file, root) {
        Uri::Relative(uri) => json!({"uri": uri, "uriBaseId": BASE}),
        Uri::Absolute(uri) => json!({"uri": uri}),
    }
}

fn location(place: &Place, root: Option<&Path>) -> Value {
    let mut physical = json!({"artifactLocation": artifact(&place.file, root)});
    if place.line > 0 {
        let mut region = json!({"startLine": place.line});
        if place.column > 0 {
            region["startColumn"] = json!(place.column);
        }
        if let Some(line) = &place.text {
            region["snippet"] = json!({"text": line});
        }
        physical["region"] = region;
    }
    json!({"physicalLocation": physical})
}

/// Each thread's stack at the end.
fn stacks(story: &Story, root: Option<&Path>) -> Vec<Value> {
    let threads = story.threads.iter().enumerate().filter(|(_, thread)| !thread.frames.is_empty());
    let stack = |(index, thread): (usize, &Thread)| {
        let doing = thread.doing.as_ref().map_or_else(String::new, |doing| format!(", about to {doing}"));
        let frames: Vec<Value> = thread.frames.iter().map(|frame| self::frame(frame, index, root)).collect();
        json!({"message": text(&format!("{}{doing}", plain::thread(story, index))), "frames": frames})
    };
    threads.map(stack).collect()
}

fn frame(frame: &Frame, thread: usize, root: Option<&Path>) -> Value {
    let mut location = match &frame.place {
        Some(place) => location(place, root),
        // SARIF's numbers have a sign.
        None => match i64::try_from(frame.offset) {
            Ok(offset) => json!({"physicalLocation": {"address": {"relativeAddress": offset, "kind": "instruction"}}}),
            Err(_) => Value::Object(Map::new()),
        },
    };
    if let Some(function) = &frame.function {
        location["logicalLocations"] = json!([{"fullyQualifiedName": function, "kind": "function"}]);
    }
    json!({"location": location, "module": frame.module, "threadId": thread})
}

/// The steps, one flow for each thread; their order among each other is the execution order. Steps whose place is not
/// known are left out: readers refuse locations without a file. Of many steps, those that matter and the last ones stay.
fn flows(story: &Story, root: Option<&Path>) -> Vec<Value> {
    let placed: Vec<&Step> = story.steps.iter().filter(|step| step.place.is_some()).collect();
    let mattering = placed.iter().filter(|step| step.matters).count();
    let last = placed.len().saturating_sub(MOST_STEPS.saturating_sub(mattering));
    let stays = |(index, step): &(usize, &Step)| *index >= last || step.matters;
    let kept: Vec<&Step> = placed.into_iter().enumerate().filter(stays).map(|(_, step)| step).collect();
    let kept = &kept[kept.len().saturating_sub(MOST_STEPS)..];
    let flow = |(index, thread): (usize, &Thread)| {
        let steps = kept.iter().filter(|step| step.thread == index);
        let locations: Vec<Value> = steps.filter_map(|step| flow_location(story, step, root)).collect();
        let name = plain::thread(story, index);
        (!locations.is_empty()).then(|| json!({"id": thread.name, "message": text(&name), "locations": locations}))
    };
    story.threads.iter().enumerate().filter_map(flow).collect()
}

fn flow_location(story: &Story, step: &Step, root: Option<&Path>) -> Option<Value> {
    let mut location = location(step.place.as_ref()?, root);
    location["message"] = text(&format!("{}: {}", plain::thread(story, step.thread), step.text));
    let held = |hold: &&Hold| {
        hold.thread == step.thread && hold.from < step.number && hold.to.is_none_or(|to| to >= step.number)
    };
    let importance = if step.matters { "essential" } else { "unimportant" };
    let mut result = json!({
        "location": location,
        "executionOrder": step.number.saturating_add(1),
        "nestingLevel": story.holds.iter().filter(held).count(),
        "importance": importance,
    });
    let kinds: &[&str] = match step.verb.as_str() {
        verb if verb.ends_with("unlock") => &["release", "lock"],
        verb if verb.ends_with("lock") => &["acquire", "lock"],
        verb if verb.ends_with("acquire") => &["acquire", "resource"],
        "post" => &["release", "resource"],
        _ => &[],
    };
    if !kinds.is_empty() {
        result["kinds"] = json!(kinds);
    }
    Some(result)
}

/// What makes two findings the same, in whatever schedule they were found: the kind and the places in the source. A line
/// is known by its text if that is known, because lines move.
fn fingerprint(story: &Story, root: Option<&Path>) -> String {
    let places = identity(story);
    let mut parts: BTreeSet<String> = places
        .iter()
        .map(|place| {
            let (Uri::Relative(uri) | Uri::Absolute(uri)) = uri::of_file(&place.file, root);
            match place.text.as_deref().map(str::trim).filter(|line| !line.is_empty()) {
                Some(line) => format!("{uri}\0{line}"),
                None => format!("{uri}\0{}", place.line),
            }
        })
        .collect();
    if parts.is_empty() {
        parts.insert(format!("{}\0{}", story.program, story.headline));
    }
    let all: Vec<String> = std::iter::once(code(story.kind)).chain(parts).collect();
    format!("{:032x}", fingerprint::of(all.join("\0\0").as_bytes()))
}

fn identity(story: &Story) -> Vec<&Place> {
    if let Some(race) = &story.race {
        return race.accesses.iter().filter_map(|access| access.place.as_ref()).collect();
    }
    if let Some(waiting) = &story.waiting {
        let counts = |thread: usize| waiting.cycle.is_empty() || waiting.cycle.contains(&thread);
        let waiters = waiting.waiters.iter().filter(|waiter| counts(waiter.thread));
        return waiters.filter_map(|waiter| waiter.place.as_ref()).collect();
    }
    places::primary(story).into_iter().collect()
}

/// A message. Text in brackets with something in parentheses behind it would be read as a link.
fn text(text: &str) -> Value {
    json!({"text": text.replace("](", "] (")})
}
