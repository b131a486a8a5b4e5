//! What came from outside, as text in a schedule: so that a replay gets the same.

/// More than this is not written down; a replay then meets whatever is outside.
const MOST: usize = 1 << 20;

/// Two digits for each byte; nothing if there is nothing, or too much.
pub(crate) fn to_text(inputs: &[u8]) -> Option<String> {
    if inputs.is_empty() || inputs.len() > MOST {
        return None;
    }
    Some(inputs.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The bytes of a text; nothing if it is none.
pub(crate) fn from_text(text: &str) -> Vec<u8> {
    let digit = |c: &u8| char::from(*c).to_digit(16).map(|d| d as u8);
    let byte = |pair: &[u8]| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?);
    text.as_bytes().chunks(2).map(byte).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{from_text, to_text};

    #[test]
    fn bytes_come_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(to_text(&bytes).map(|text| from_text(&text)), Some(bytes));
        assert_eq!(to_text(&[]), None);
        assert!(from_text("0g").is_empty());
        assert!(from_text("012").is_empty());
    }
}
