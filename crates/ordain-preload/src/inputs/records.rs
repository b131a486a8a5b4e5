//! Records of what came from outside, one behind the other in memory: a key, what the system call returned, and bytes.

use crate::hash::number_of;
use alloc::collections::BTreeMap;

/// A record begins with its key, what the system call returned, and how many bytes follow.
const HEAD: usize = 24;

/// Where records are.
#[derive(Default)]
pub struct Index {
    records: BTreeMap<u64, (isize, usize, usize)>,
    /// How much is in the index.
    read: usize,
}

impl Index {
    /// Takes over records that are new. One that is not whole ends them.
    pub fn catch_up(&mut self, records: &[u8]) {
        while let Some(head) = records.get(self.read..self.read + HEAD) {
            let (begin, size) = (self.read + HEAD, number_of(&head[16..]) as usize);
            if size > records.len() - begin {
                return;
            }
            self.records.insert(number_of(head), (number_of(&head[8..]) as isize, begin, size));
            self.read = begin + size.next_multiple_of(8);
        }
    }

    /// What the system call returned that was recorded for a key, where its bytes begin and how many there are.
    pub fn find(&self, key: u64) -> Option<(isize, usize, usize)> {
        self.records.get(&key).copied()
    }
}

/// Writes a record into memory behind `at`; gives where it ends, if there is room for it.
pub fn write(room: &mut [u8], at: usize, (key, result): (u64, isize), bytes: &[u8]) -> Option<usize> {
    let end = at + HEAD + bytes.len().next_multiple_of(8);
    let room = room.get_mut(at..end)?;
    room[..8].copy_from_slice(&key.to_le_bytes());
    room[8..16].copy_from_slice(&result.to_le_bytes());
    room[16..HEAD].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    room[HEAD..HEAD + bytes.len()].copy_from_slice(bytes);
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> (Vec<u8>, usize) {
        let mut room = vec![0; 256];
        let end = write(&mut room, 0, (1, 5), b"hello").expect("there is room");
        assert_eq!(end, HEAD + 8);
        let end = write(&mut room, end, (2, -11), b"").expect("there is room");
        let end = write(&mut room, end, (3, 8), b"12345678").expect("there is room");
        (room, end)
    }

    #[test]
    fn what_was_recorded_is_found() {
        let (room, end) = records();
        let mut index = Index::default();
        index.catch_up(&room[..end]);
        let found = |key| index.find(key).map(|(result, begin, size)| (result, &room[begin..begin + size]));
        assert_eq!(found(1), Some((5, &b"hello"[..])));
        assert_eq!(found(2), Some((-11, &b""[..])));
        assert_eq!(found(3), Some((8, &b"12345678"[..])));
        assert_eq!(found(4), None);
    }

    #[test]
    fn what_is_new_is_taken_over_later() {
        let (room, end) = records();
        let mut index = Index::default();
        index.catch_up(&room[..HEAD + 8]);
        assert!(index.find(1).is_some() && index.find(2).is_none());
        index.catch_up(&room[..end]);
        assert!(index.find(2).is_some() && index.find(3).is_some());
        // The last one recorded for a key counts.
        let mut room = room;
        let end = write(&mut room, end, (1, 2), b"hi").expect("there is room");
        index.catch_up(&room[..end]);
        assert_eq!(index.find(1).map(|(result, ..)| result), Some(2));
    }

    #[test]
    fn a_record_that_is_cut_off_ends_them() {
        let (mut room, end) = records();
        let mut index = Index::default();
        index.catch_up(&room[..end - 1]);
        assert!(index.find(2).is_some() && index.find(3).is_none());
        // The program has written over the length.
        room[16..HEAD].copy_from_slice(&u64::MAX.to_le_bytes());
        let mut index = Index::default();
        index.catch_up(&room[..end]);
        assert!(index.find(1).is_none() && index.find(2).is_none());
    }

    #[test]
    fn there_may_be_no_room() {
        let mut room = [0; HEAD + 8];
        assert_eq!(write(&mut room, 0, (1, 9), b"123456789"), None);
        assert_eq!(write(&mut room, 8, (1, 0), b"1"), None);
        assert_eq!(room, [0; HEAD + 8]);
        assert_eq!(write(&mut room, 0, (1, 8), b"12345678"), Some(HEAD + 8));
    }
}
