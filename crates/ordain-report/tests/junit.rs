//! JUnit XML: what readers of CI systems take, read back with an XML parser.

mod common;

use ordain_report::{Kind, Unchecked, junit};
use roxmltree::{Document, Node};

/// What an element may and must look like, in our own words: what the schema of Jenkins and that of Ant have in common.
/// Name, attributes that must be there, attributes that may be there, children in this order.
type Rule = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const RULES: [Rule; 10] = [
    ("testsuites", &[], &["name", "tests", "failures", "errors", "time"], &["testsuite"]),
    (
        "testsuite",
        &["name", "tests", "failures", "errors", "time"],
        &["skipped", "timestamp"],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    ("properties", &[], &[], &["property"]),
    ("property", &["name", "value"], &[], &[]),
    ("testcase", &["name", "classname", "time"], &[], &["skipped", "error", "failure", "system-out", "system-err"]),
    ("skipped", &["message"], &[], &[]),
    ("error", &["message", "type"], &[], &[]),
    ("failure", &["message", "type"], &[], &[]),
    ("system-out", &[], &[], &[]),
    ("system-err", &[], &[], &[]),
];
/// Of these there may be several.
const REPEATED: [&str; 3] = ["testsuite", "property", "testcase"];
/// These have text in them, and nothing else.
const TEXTS: [&str; 4] = ["error", "failure", "system-out", "system-err"];

/// Demands that the element is as the rules say, and that its numbers are right.
fn validate(node: Node<'_, '_>) {
    let name = node.tag_name().name();
    let (_, must, may, children) = RULES.iter().find(|rule| rule.0 == name).expect("the element is known");
    for attribute in *must {
        assert!(node.has_attribute(*attribute), "{name} has no {attribute}");
    }
    for attribute in node.attributes() {
        assert!(must.contains(&attribute.name()) || may.contains(&attribute.name()), "{name} {}", attribute.name());
    }
    let mut last = 0;
    let mut seen = Vec::new();
    for child in node.children() {
        if child.is_text() {
            assert!(TEXTS.contains(&name) || child.text().unwrap_or_default().trim().is_empty(), "{name} has text");
            continue;
        }
        let tag = child.tag_name().name();
        let position = children.iter().position(|known| *known == tag).unwrap_or_else(|| panic!("{name} has {tag}"));
        assert!(position >= last, "{tag} in {name} comes too late");
        assert!(REPEATED.contains(&tag) || !seen.contains(&tag), "{tag} in {name} comes twice");
        last = position;
        seen.push(tag);
        validate(child);
    }
    if let Some(time) = node.attribute("time") {
        let (whole, part) = time.split_once('.').expect("seconds have a fraction");
        assert!(part.len() == 3 && [whole, part].iter().all(|d| d.bytes().all(|b| b.is_ascii_digit())), "{time}");
    }
    if matches!(name, "testsuites" | "testsuite") {
        let count = |of: &str| node.descendants().filter(|n| n.has_tag_name(of)).count().to_string();
        for (attribute, of) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
        {
            assert!(node.attribute(attribute).is_none_or(|number| number == count(of)), "{name} {attribute}");
        }
    }
}

/// The document, valid.
fn parse(text: &str) -> Document<'_> {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(document.root_element().tag_name().name(), "testsuites");
    validate(document.root_element());
    document
}

fn all<'a, 'b>(document: &'a Document<'b>, tag: &'static str) -> Vec<Node<'a, 'b>> {
    document.descendants().filter(|node| node.has_tag_name(tag)).collect()
}

#[test]
fn each_verdict_has_its_status() {
    let text = junit::render(&common::runs());
    let document = parse(&text);
    let root = document.root_element();
    assert_eq!(["tests", "failures", "errors"].map(|name| root.attribute(name)), [Some("5"), Some("3"), Some("0")]);
    let of = |case: &Node<'_, '_>| case.children().find(Node::is_element).map(|n| n.tag_name().name().to_owned());
    let cases: Vec<_> =
        all(&document, "testcase").iter().map(|c| (c.attribute("name").map(str::to_owned), of(c))).collect();
    let case = |name: &str, status: Option<&str>| (Some(name.to_owned()), status.map(str::to_owned));
    assert_eq!(
        cases,
        [
            case("./transfer 2", Some("failure")),
            case("./transfer 2: output at transfer.c:20", Some("failure")),
            case("counter::two_writers", Some("failure")),
            case("./transfer 2", None),
            case("./queue", Some("skipped")),
        ]
    );
}

#[test]
fn a_failure_tells_the_story_and_how_to_replay_it() {
    let text = junit::render(&[common::found(vec![common::deadlock(), common::output()])]);
    let document = parse(&text);
    let failures = all(&document, "failure");
    assert_eq!(failures[0].attribute("type"), Some("deadlock"));
    assert_eq!(failures[0].attribute("message"), Some(common::deadlock().headline.as_str()));
    insta::assert_snapshot!(failures[0].text().unwrap_or_default());
    insta::assert_snapshot!(failures[1].text().unwrap_or_default());
    let out: Vec<_> = all(&document, "system-out").iter().filter_map(Node::text).collect();
    assert_eq!(out[0], "moving 5 & 7 <euro>\n");
    assert_eq!(all(&document, "system-err")[0].text(), Some("warned\n"));
    assert_eq!(all(&document, "testsuite")[0].attribute("timestamp"), Some("2023-11-14T22:13:20"));
}

#[test]
fn headlines_end_and_commands_can_be_pasted_into_a_shell() {
    let text = junit::render(&[common::found(vec![common::race()])]);
    let message = parse(&text).descendants().find_map(|node| node.attribute("message").map(str::to_owned));
    assert_eq!(message.as_deref(), Some("nothing orders these accesses to counter"));
    assert!(parse(&text).descendants().any(|node| {
        node.text().is_some_and(|text| text.contains("  ordain replay '.ordain/counter/two writers.ordain'\n"))
    }));
}

#[test]
fn what_limits_a_run_without_finding_is_told() {
    let run = common::no_finding();
    let text = junit::render(std::slice::from_ref(&run));
    let document = parse(&text);
    assert_eq!(all(&document, "skipped")[0].attribute("message"), Some(run.meaning.as_str()));
    let value = |name: &str| {
        let found = all(&document, "property").into_iter().find(|p| p.attribute("name") == Some(name));
        found.and_then(|p| p.attribute("value")).map(str::to_owned)
    };
    assert_eq!(value("ordain.verdict").as_deref(), Some("no finding"));
    assert_eq!(value("ordain.executions").as_deref(), Some("120"));
    assert_eq!(value("ordain.exhausted").as_deref(), Some("false"));
    assert_eq!(value("ordain.note"), run.notes.first().map(|note| note.text.clone()));
}

#[test]
fn what_is_required_and_not_reached_is_a_failure() {
    let unmet = Some("`verified` was required, but the verdict is `no finding`".to_owned());
    let run = ordain_report::Run { unmet, ..common::no_finding() };
    let text = junit::render(std::slice::from_ref(&run));
    let document = parse(&text);
    let failures = all(&document, "failure");
    assert_eq!(failures.len(), 1, "{text}");
    assert_eq!(
        (failures[0].attribute("message"), failures[0].attribute("type")),
        (run.unmet.as_deref(), Some("requirement"))
    );
}

#[test]
fn no_verdict_is_an_error() {
    let unchecked = Unchecked {
        program: "./static".to_owned(),
        message: "./static is statically linked".to_owned(),
        help: Some("link it dynamically".to_owned()),
    };
    let confused = common::found(vec![common::bare(Kind::Nondeterminism, "step 3 differs")]);
    let text = junit::render_with(&[confused], &[unchecked]);
    let document = parse(&text);
    let errors = all(&document, "error");
    let types: Vec<_> = errors.iter().map(|error| error.attribute("type")).collect();
    assert_eq!(types, [Some("nondeterminism"), Some("no-verdict")]);
    assert_eq!(errors[1].text(), Some("./static is statically linked\nhelp: link it dynamically\n"));
    assert_eq!(document.root_element().attribute("errors"), Some("2"));
}

#[test]
fn a_finding_that_is_not_in_the_record_does_not_pass() {
    let text = junit::render(&[common::found(Vec::new())]);
    let document = parse(&text);
    assert_eq!(all(&document, "failure")[0].attribute("message"), Some("finding:"));
    assert_eq!(all(&document, "testcase")[0].attribute("name"), Some("unnamed"));
}

#[test]
fn no_runs_are_a_document_too() {
    assert!(all(&parse(&junit::render(&[])), "testsuite").is_empty());
}

#[test]
fn hostile_text_is_kept_as_far_as_xml_allows() {
    let text = junit::render(&[common::hostile()]);
    let document = parse(&text);
    let out = all(&document, "system-out");
    let kept = out[0].text().unwrap_or_default();
    assert!(kept.starts_with("a]]>b <&\"'> \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}[31mred"), "{kept:?}");
    assert!(kept.contains("é 日本 🦀") && kept.contains('\t') && kept.contains('\n'), "{kept:?}");
    for bad in ['\u{0}', '\u{b}', '\u{1b}', '\u{7f}', '\u{fffe}', '\u{ffff}'] {
        assert!(!text.contains(bad), "{bad:?}");
    }
    // Every single character survives or is replaced, and is never a reason for readers to refuse the document.
    let every: String = (0..0x3000).chain(0xd000..0x1_1000).filter_map(char::from_u32).collect();
    let mut run = common::found(vec![common::bare(Kind::Crash, &every)]);
    run.program.clone_from(&every);
    run.findings[0].outputs = [every.clone(), every];
    parse(&junit::render(&[run]));
}
