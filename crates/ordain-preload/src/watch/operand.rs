//! Which memory an instruction uses.

use ordain_wire::{NO_REGISTER, WatchSite};

/// The address of an instruction's operand, with these registers and this base of thread-local storage.
pub fn address(site: &WatchSite, registers: &[i64; 23], local: u64) -> u64 {
    let value = |register: u8| if register == NO_REGISTER { 0 } else { registers[register as usize % 23] };
    let mut address = site.displacement.wrapping_add(value(site.base));
    address = address.wrapping_add(value(site.index).wrapping_mul(i64::from(site.scale)));
    if site.bit != NO_REGISTER {
        let size = i64::from(site.size.max(1));
        // The number of the bit is as wide as the operand.
        let bit = value(site.bit) << (64 - 8 * size) >> (64 - 8 * size);
        address = address.wrapping_add(bit.div_euclid(8 * size) * size);
    }
    (address as u64).wrapping_add(if site.local != 0 { local } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RBX: u8 = 11;
    const RCX: u8 = 14;

    /// `mov displacement, …` of four bytes, with no register.
    fn site(displacement: i64) -> WatchSite {
        let [base, index, bit] = [NO_REGISTER; 3];
        let code = [0; ordain_wire::SLOT];
        let (scale, size, local, length, first) = (1, 4, 0, 5, 0xf0);
        WatchSite { address: 0, slot: 0, displacement, base, index, scale, bit, size, local, length, first, code }
    }

    fn registers(set: &[(u8, i64)]) -> [i64; 23] {
        let mut registers = [0; 23];
        for (register, value) in set {
            registers[usize::from(*register)] = *value;
        }
        registers
    }

    #[test]
    fn registers_are_added() {
        assert_eq!(address(&site(0x1000), &[7; 23], 0), 0x1000);
        let based = WatchSite { base: RBX, ..site(-8) };
        assert_eq!(address(&based, &registers(&[(RBX, 0x5000)]), 0), 0x4ff8);
        let indexed = WatchSite { index: RCX, scale: 8, ..based };
        assert_eq!(address(&indexed, &registers(&[(RBX, 0x5000), (RCX, 3)]), 0), 0x5010);
        assert_eq!(address(&indexed, &registers(&[(RBX, 0x5000), (RCX, -1)]), 0), 0x4ff0);
    }

    #[test]
    fn addresses_wrap_as_in_the_processor() {
        let based = WatchSite { base: RBX, ..site(i64::MAX) };
        assert_eq!(address(&based, &registers(&[(RBX, 1)]), 0), 1 << 63);
        let indexed = WatchSite { index: RCX, scale: 8, ..site(16) };
        assert_eq!(address(&indexed, &registers(&[(RCX, i64::MIN)]), 0), 16);
    }

    #[test]
    fn local_storage_has_its_base() {
        let local = WatchSite { local: 1, ..site(-16) };
        assert_eq!(address(&local, &[0; 23], 0x7000), 0x6ff0);
        assert_eq!(address(&site(16), &[0; 23], 0x7000), 16);
    }

    /// Bits are counted from the operand on, up and down, in units of the operand.
    #[test]
    fn bits_may_be_far_from_the_operand() {
        let at = |size, number| {
            let bits = WatchSite { bit: RCX, size, ..site(0x1000) };
            address(&bits, &registers(&[(RCX, number)]), 0)
        };
        assert_eq!([0, 31, 32, 63, 64].map(|number| at(4, number)), [0x1000, 0x1000, 0x1004, 0x1004, 0x1008]);
        assert_eq!([-1, -32, -33].map(|number| at(4, number)), [0xffc, 0xffc, 0xff8]);
        assert_eq!([63, 64, -1].map(|number| at(8, number)), [0x1000, 0x1008, 0xff8]);
        // What is above the operand's width is not part of the number.
        assert_eq!(at(4, 1 << 32 | 5), 0x1000);
        assert_eq!(at(2, 0xffff), 0xffe);
    }
}
