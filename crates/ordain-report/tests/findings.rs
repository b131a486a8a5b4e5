//! The page `docs/findings.md` is the text of the explanations.

use ordain_report::explain;
use std::path::Path;

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let page = explain::markdown();
    if std::env::var_os("ORDAIN_RENEW").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/findings.md is not what the explanations say; renew it with\n  \
         ORDAIN_RENEW=1 cargo test -p ordain-report --test findings"
    );
}
