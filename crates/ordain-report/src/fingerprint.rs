//! Fingerprints: hashes that are written into files, so they are the same on every machine and with every compiler.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use twox_hash::XxHash3_128;

/// The seed of all fingerprints. Files of before are not recognised any more if it changes.
const SEED: u64 = 0;

/// The fingerprint of some bytes.
pub fn of(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot_with_seed(SEED, bytes)
}

/// The fingerprint of what is in a file.
pub fn of_file(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hasher = XxHash3_128::with_seed(SEED);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish_128()),
            count => hasher.write(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_never_change() {
        // The test vectors of xxHash: files that were written once must be recognised for ever.
        assert_eq!(of(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    }

    #[test]
    fn a_file_has_the_fingerprint_of_what_is_in_it() {
        let directory = tempfile::tempdir().expect("room for temporary files");
        let path = directory.path().join("file");
        for length in [0, 1, 1 << 16, (1 << 16) + 1, 200_000] {
            let bytes: Vec<u8> = (0..length).map(|i: u32| ((i * 31) >> 3) as u8).collect();
            std::fs::write(&path, &bytes).expect("it can be written");
            assert_eq!(of_file(&path).expect("it can be read"), of(&bytes), "{length} bytes");
        }
        assert!(of_file(&directory.path().join("nothing")).is_err());
    }
}
