//! Tables for the document.

/// A markdown table whose first `names` columns are words.
pub(crate) fn markdown(head: &[&str], names: usize, rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule: Vec<String> = (0..head.len()).map(|i| if i < names { "---".into() } else { "---:".into() }).collect();
    let mut text = line(&head) + &line(&rule);
    for row in rows {
        text += &line(row);
    }
    text
}
