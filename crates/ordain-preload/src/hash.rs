//! Scattering numbers and bytes into keys.

/// Scatters the bits of a number (the finalizer of SplitMix64).
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Up to eight bytes as a number, lowest first; what is missing is zero.
pub fn number_of(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    let length = bytes.len().min(8);
    number[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(number)
}

/// A key from a key and bytes.
pub fn with_bytes(key: u64, bytes: &[u8]) -> u64 {
    let whole = bytes.chunks(8).fold(key, |key, chunk| mix(key ^ number_of(chunk)));
    mix(whole ^ bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix() {
        // The first outputs of the published generator with seed zero.
        let outputs = [0, 1, 2].map(|n: u64| mix(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        assert_eq!(outputs, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn bytes_are_numbers_lowest_first() {
        assert_eq!(number_of(b""), 0);
        assert_eq!(number_of(&[1, 2]), 0x0201);
        assert_eq!(number_of(&[0xff; 9]), u64::MAX);
    }

    #[test]
    fn keys_depend_on_every_byte_and_on_the_length() {
        let keys =
            [&b""[..], b"\0", b"\0\0", b"a", b"b", b"abcdefgh", b"abcdefgh\0", b"abcdefgha"].map(|b| with_bytes(7, b));
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
        assert_ne!(with_bytes(7, b"a"), with_bytes(8, b"a"));
    }
}
