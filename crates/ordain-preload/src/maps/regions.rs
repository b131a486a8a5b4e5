//! Mappings as the kernel writes them down in `/proc/self/maps`, and ranges of addresses taken out of them.

use alloc::vec::Vec;

/// A mapping, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its lowest address.
    pub start: usize,
    /// The address behind it.
    pub end: usize,
    /// It can be written.
    pub writable: bool,
    /// Writes to it are seen by others.
    pub shared: bool,
    /// It holds what is in a file.
    pub file: bool,
}

/// The number that a text begins with, and what is behind its digits.
fn hex(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|c| c.is_ascii_hexdigit()).count();
    let number = usize::from_str_radix(core::str::from_utf8(&text[..digits]).ok()?, 16).ok()?;
    Some((number, &text[digits..]))
}

/// The mapping that a line is about.
pub fn parse(line: &[u8]) -> Option<Region> {
    let (start, rest) = hex(line)?;
    let (end, rest) = hex(rest.strip_prefix(b"-")?)?;
    let [_, writable, _, shared, ..] = rest.strip_prefix(b" ")? else { return None };
    Some(Region { start, end, writable: *writable == b'w', shared: *shared == b's', file: line.contains(&b'/') })
}

/// What is left of the regions without a range of addresses: the kernel joins neighbours that are alike, whoever made them.
pub fn without(regions: &[Region], (low, high): (usize, usize)) -> Vec<Region> {
    if low >= high {
        return regions.to_vec();
    }
    let mut left = Vec::with_capacity(regions.len() + 2);
    for region in regions {
        let before = Region { end: region.end.min(low), ..*region };
        let behind = Region { start: region.start.max(high), ..*region };
        left.extend([before, behind].into_iter().filter(|r| r.start < r.end));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: usize, end: usize) -> Region {
        Region { start, end, writable: true, shared: false, file: false }
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let heap = b"55d0c0de0000-55d0c0e01000 rw-p 00000000 00:00 0                          [heap]";
        assert_eq!(parse(heap), Some(region(0x55d0_c0de_0000, 0x55d0_c0e0_1000)));
        let file = b"7f0000000000-7f0000001000 r-xp 00000000 fd:01 1234 /lib/x86_64-linux-gnu/libc.so.6";
        let expected = Region { writable: false, file: true, ..region(0x7f00_0000_0000, 0x7f00_0000_1000) };
        assert_eq!(parse(file), Some(expected));
        let shared = b"7f0000000000-7f0000001000 rw-s 00000000 00:01 7 /memfd:thing (deleted)";
        assert!(parse(shared).is_some_and(|r| r.shared && r.writable && r.file));
        let last = b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";
        assert!(parse(last).is_some_and(|r| r.start == 0xffff_ffff_ff60_0000 && !r.writable));
    }

    #[test]
    fn what_is_no_line_is_no_mapping() {
        for line in
            [&b""[..], b"-", b"1000", b"1000-", b"1000-2000", b"1000-2000 rw", b"x-y rw-p", b"10000000000000000-2 rw-p"]
        {
            assert_eq!(parse(line), None, "{:?}", core::str::from_utf8(line));
        }
    }

    /// The mappings of this very process are all understood, and in order.
    #[test]
    fn mappings_of_this_process_are_read() {
        let text = std::fs::read("/proc/self/maps").expect("it is there");
        let lines = || text.split(|c| *c == b'\n').filter(|line| !line.is_empty());
        let regions: Vec<Region> = lines().filter_map(parse).collect();
        assert_eq!(regions.len(), lines().count());
        assert!(regions.iter().all(|r| r.start < r.end));
        assert!(regions.windows(2).all(|pair| pair[0].end <= pair[1].start));
        let here = &raw const text as usize;
        assert!(regions.iter().any(|r| (r.start..r.end).contains(&here) && r.writable && !r.shared));
    }

    #[test]
    fn ranges_are_taken_out() {
        let all = [region(10, 20), region(30, 40)];
        assert_eq!(without(&all, (0, 10)), all);
        assert_eq!(without(&all, (20, 30)), all);
        assert_eq!(without(&all, (10, 20)), [region(30, 40)]);
        assert_eq!(without(&all, (12, 15)), [region(10, 12), region(15, 20), region(30, 40)]);
        assert_eq!(without(&all, (15, 35)), [region(10, 15), region(35, 40)]);
        assert_eq!(without(&all, (0, usize::MAX)), []);
        // Nothing is taken out of a region by what is no range.
        assert_eq!(without(&all, (15, 15)), all);
        assert_eq!(without(&all, (18, 12)), all);
    }
}
