//! The record of a run against its schema, `docs/run.schema.json`.

mod common;

use ordain_report::{Kind, Run, Switch, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/run.schema.json")).expect("the schema is JSON")
}

fn problems(record: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
    validator.iter_errors(record).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn record(run: &Run) -> Value {
    serde_json::to_value(run).expect("runs can be written")
}

#[test]
fn records_are_as_the_schema_says() {
    let mut runs = common::runs();
    runs.push(common::full());
    runs.push(common::found(vec![common::bare(Kind::Crash, "main got SIGSEGV")]));
    for run in runs {
        assert_eq!(problems(&record(&run)), [""; 0], "{}", run.meaning);
    }
}

#[test]
fn every_word_is_in_the_schema() {
    let mut run = common::full();
    for kind in Kind::ALL {
        run.findings[0].kind = kind;
        assert_eq!(problems(&record(&run)), [""; 0]);
    }
    for verdict in [Verdict::Verified, Verdict::NoFinding, Verdict::Finding] {
        run.verdict = verdict;
        assert_eq!(problems(&record(&run)), [""; 0]);
    }
    for switch in [Switch::None, Switch::Free, Switch::Preemption] {
        run.findings[0].steps[0].switch = switch;
        assert_eq!(problems(&record(&run)), [""; 0]);
    }
    assert_eq!(schema()["properties"]["version"]["const"], json!(Run::VERSION));
    assert_eq!(schema()["$defs"]["story"]["properties"]["kind"]["enum"], json!(Kind::ALL.map(Kind::name)));
}

/// All lists of words in a schema.
fn enums<'a>(schema: &'a Value, found: &mut Vec<&'a Vec<Value>>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Array(words) if name == "enum" => found.push(words),
                    value => enums(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| enums(item, found)),
        _ => {}
    }
}

#[test]
fn no_schema_forgets_a_kind_of_finding() {
    let kinds: BTreeSet<&str> = Kind::ALL.map(Kind::name).into();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut lists = Vec::new();
    for entry in fs::read_dir(docs).expect("the documentation is there") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(name) = name.strip_suffix(".schema.json") else { continue };
        let text = fs::read_to_string(&path).expect("the schema can be read");
        let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
        let mut found = Vec::new();
        enums(&schema, &mut found);
        for words in found {
            let words: BTreeSet<&str> = words.iter().filter_map(Value::as_str).collect();
            if !words.is_disjoint(&kinds) {
                assert_eq!(words, kinds, "{name}");
                lists.push(name.to_owned());
            }
        }
    }
    lists.sort_unstable();
    assert_eq!(lists, ["check", "run"], "the schemas that list kinds");
}

/// Walks a record along its schema, and notes each field that the record has, by the definition that it is in.
fn walk(value: &Value, schema: &Value, root: &Value, name: &str, seen: &mut BTreeSet<(String, String)>) {
    if value.is_null() {
        return;
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        return walk(value, &options[0], root, name, seen);
    }
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        let target = path.rsplit('/').next().unwrap_or_default();
        return walk(value, &root["$defs"][target], root, target, seen);
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let field = &schema["properties"][key];
                assert!(!field.is_null(), "{name} has no {key} in the schema");
                seen.insert((name.to_owned(), key.clone()));
                walk(value, field, root, key, seen);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| walk(value, &schema["items"], root, name, seen)),
        _ => {}
    }
}

#[test]
fn the_schema_has_the_fields_of_the_structs_and_no_others() {
    let schema = schema();
    let mut seen = BTreeSet::new();
    walk(&record(&common::full()), &schema, &schema, "run", &mut seen);
    let mut described = BTreeSet::new();
    let definitions = schema["$defs"].as_object().expect("there are definitions");
    for (name, definition) in definitions.iter().map(|(n, d)| (n.as_str(), d)).chain([("run", &schema)]) {
        assert_eq!(definition["additionalProperties"], json!(false), "{name}");
        let fields: BTreeSet<&str> =
            definition["properties"].as_object().expect("it has fields").keys().map(String::as_str).collect();
        let required: BTreeSet<&str> =
            definition["required"].as_array().expect("it demands fields").iter().filter_map(Value::as_str).collect();
        assert_eq!(fields, required, "every field of {name} is always written");
        described.extend(fields.iter().map(|field| (name.to_owned(), (*field).to_owned())));
    }
    assert_eq!(seen, described);
}

#[test]
fn what_is_no_record_is_refused() {
    let good = record(&common::full());
    for (pointer, value) in [
        ("/version", json!(1)),
        ("/verdict", json!("fine")),
        ("/executions", json!(-1)),
        ("/findings/0/kind", json!("data race")),
        ("/findings/0/steps/0/switch", json!("Free")),
        ("/findings/0/outputs", json!(["only one"])),
        ("/findings/0/race/accesses/0", json!({})),
        ("/findings/0/size", Value::Null),
        ("/findings/0/threads/0/more", json!(1)),
    ] {
        let mut bad = good.clone();
        match bad.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => {
                let (parent, key) = pointer.rsplit_once('/').expect("it has a parent");
                bad.pointer_mut(parent).expect("the parent is there")[key] = value;
            }
        }
        assert_ne!(problems(&bad), [""; 0], "{pointer}");
    }
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for run in common::runs().into_iter().chain([common::full()]) {
        ordain_report::store::write_run(directory.path(), &run).expect("it can be written");
        assert_eq!(ordain_report::store::read_run(directory.path()), Ok(run));
    }
}
