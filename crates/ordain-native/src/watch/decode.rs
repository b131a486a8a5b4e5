//! The atomic instructions of a program or library file.
//!
//! Code is decoded from the beginning of a function to its end. Where functions are is told by unwind tables, and by symbols for those
//! that have none: a sweep over everything would take constants between functions for code.

use gimli::{BaseAddresses, CieOrFde, EhFrame, UnwindSection as _};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::read::elf::ElfFile64;
use object::read::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use object::{Architecture, LittleEndian, SectionFlags, elf};
use ordain_wire::NO_REGISTER;
use std::collections::BTreeMap;

/// An atomic instruction, with addresses as the file counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Atomic {
    pub(super) address: u64,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// If its operand is relative to the instruction: where the operand is, and where in the bytes the distance is.
    pub(super) relative: Option<(u64, usize)>,
    pub(super) displacement: i64,
    pub(super) base: u8,
    pub(super) index: u8,
    pub(super) scale: u8,
    pub(super) bit: u8,
    pub(super) size: u8,
    pub(super) local: bool,
}

/// Finds the atomic instructions of a file; an error says why it cannot be known.
pub(super) fn atomics(contents: &[u8]) -> Result<Vec<Atomic>, &'static str> {
    let file = ElfFile64::<LittleEndian>::parse(contents).map_err(|_| "it is no ELF file")?;
    if file.architecture() != Architecture::X86_64 {
        return Err("its instructions are not those of x86-64");
    }
    let functions = functions(&file);
    let (mut atomics, mut code, mut known, mut uncertain) = (Vec::new(), 0, 0, false);
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        let name = section.name().unwrap_or_default();
        if sh_flags & u64::from(elf::SHF_EXECINSTR) == 0 || name.starts_with(".plt") {
            continue;
        }
        let data = section.data().map_err(|_| "its code cannot be read")?;
        let (low, high) = (section.address(), section.address() + data.len() as u64);
        code += data.len() as u64;
        let mut covered = low;
        let mut looks =
            |from: u64, to: u64| uncertain |= looks_atomic(&data[(from - low) as usize..(to - low) as usize]);
        for (&start, &end) in functions.range(low..high) {
            let end = end.min(high);
            if end <= covered {
                continue;
            }
            known += end - start.max(covered);
            looks(covered, start.max(covered));
            covered = end;
            decode(&data[(start - low) as usize..(end - low) as usize], start, &mut atomics);
        }
        looks(covered, high);
    }
    // What little is between functions may be constants; but if most is not known, it is code.
    if uncertain && known * 2 < code {
        return Err("the beginnings of its functions are unknown (no unwind tables, no symbols)");
    }
    atomics.sort_by_key(|a| a.address);
    atomics.dedup_by_key(|a| a.address);
    Ok(atomics)
}

/// Where functions begin and end.
fn functions(file: &ElfFile64<'_, LittleEndian>) -> BTreeMap<u64, u64> {
    let mut functions = BTreeMap::new();
    if let Some(section) = file.section_by_name(".eh_frame")
        && let Ok(data) = section.data()
    {
        let address = |name: &str| file.section_by_name(name).map_or(0, |s| s.address());
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address())
            .set_text(address(".text"))
            .set_got(address(".got"));
        let mut table = EhFrame::new(data, gimli::LittleEndian);
        table.set_address_size(8);
        let mut entries = table.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(entry) = entry
                && let Ok(entry) = entry.parse(EhFrame::cie_from_offset)
                && let Some(end) = entry.initial_address().checked_add(entry.len())
            {
                functions.insert(entry.initial_address(), end);
            }
        }
    }
    let symbols: Vec<(u64, u64)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|s| s.kind() == SymbolKind::Text && s.size() > 0)
        .filter_map(|s| Some((s.address(), s.address().checked_add(s.size())?)))
        .collect();
    for (start, end) in symbols {
        let before = functions.range(..end).next_back();
        if before.is_none_or(|(_, known)| *known <= start) {
            functions.insert(start, end);
        }
    }
    functions
}

/// Decodes a function. If something in it is no instruction, nothing in it is certain.
fn decode(code: &[u8], address: u64, out: &mut Vec<Atomic>) {
    let before = out.len();
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.code() == Code::INVALID {
            out.truncate(before);
            return;
        }
        if let Some(operand) = memory_of(&instruction) {
            let at = (instruction.ip() - address) as usize;
            let offsets = decoder.get_constant_offsets(&instruction);
            let bytes = &code[at..at + instruction.len()];
            out.extend(atomic(&instruction, operand, bytes, offsets.displacement_offset()));
        }
    }
}

/// Whether there may be an atomic instruction in bytes that belong to no function that is known.
fn looks_atomic(code: &[u8]) -> bool {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let at = decoder.position();
        decoder.decode_out(&mut instruction);
        if instruction.code() == Code::INVALID {
            // Somewhere behind this byte it may be code again.
            if decoder.set_position(at + 1).is_err() {
                return false;
            }
        } else if memory_of(&instruction).is_some() {
            return true;
        }
    }
    false
}

/// The place of the operand in memory, if an instruction is atomic and has one.
fn memory_of(instruction: &Instruction) -> Option<u32> {
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg;
    if !exchanges && !instruction.has_lock_prefix() {
        return None;
    }
    (0..instruction.op_count()).find(|i| instruction.op_kind(*i) == OpKind::Memory)
}

fn atomic(instruction: &Instruction, operand: u32, bytes: &[u8], distance: usize) -> Option<Atomic> {
    let relative = instruction.is_ip_rel_memory_operand().then(|| (instruction.ip_rel_memory_address(), distance));
    let registers = [instruction.memory_base(), instruction.memory_index()];
    let [base, index] = match relative {
        Some(_) => [NO_REGISTER; 2],
        None => [number(registers[0])?, number(registers[1])?],
    };
    let tests = matches!(instruction.mnemonic(), Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
    let by_register = tests && operand == 0 && instruction.op_kind(1) == OpKind::Register;
    let bit = if by_register { number(instruction.op_register(1).full_register())? } else { NO_REGISTER };
    Some(Atomic {
        address: instruction.ip(),
        bytes: bytes.to_vec(),
        relative,
        displacement: if relative.is_some() { 0 } else { instruction.memory_displacement64() as i64 },
        base,
        index,
        scale: instruction.memory_index_scale() as u8,
        bit,
        size: instruction.memory_size().size() as u8,
        local: instruction.memory_segment() == Register::FS,
    })
}

/// The place of a register in a signal's context; nothing for those of 32 bits, which addresses hardly ever have.
fn number(register: Register) -> Option<u8> {
    Some(match register {
        Register::None => NO_REGISTER,
        Register::R8 => libc::REG_R8 as u8,
        Register::R9 => libc::REG_R9 as u8,
        Register::R10 => libc::REG_R10 as u8,
        Register::R11 => libc::REG_R11 as u8,
        Register::R12 => libc::REG_R12 as u8,
        Register::R13 => libc::REG_R13 as u8,
        Register::R14 => libc::REG_R14 as u8,
        Register::R15 => libc::REG_R15 as u8,
        Register::RDI => libc::REG_RDI as u8,
        Register::RSI => libc::REG_RSI as u8,
        Register::RBP => libc::REG_RBP as u8,
        Register::RBX => libc::REG_RBX as u8,
        Register::RDX => libc::REG_RDX as u8,
        Register::RAX => libc::REG_RAX as u8,
        Register::RCX => libc::REG_RCX as u8,
        Register::RSP => libc::REG_RSP as u8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(code: &[u8]) -> Vec<Atomic> {
        let mut found = Vec::new();
        decode(code, 0x1000, &mut found);
        found
    }

    #[test]
    fn finds_instructions_that_are_atomic() {
        // mov (%rax),%ecx; lock incl 8(%rdi,%rsi,4); ret
        let found = decoded(&[0x8b, 0x08, 0xf0, 0xff, 0x44, 0xb7, 0x08, 0xc3]);
        assert_eq!(found.len(), 1);
        let atomic = &found[0];
        assert_eq!((atomic.address, atomic.size, atomic.displacement, atomic.scale), (0x1002, 4, 8, 4));
        assert_eq!((atomic.base, atomic.index), (libc::REG_RDI as u8, libc::REG_RSI as u8));
        // xchg %eax,(%rbx) needs no prefix; xchg %rax,%rbx uses no memory.
        assert_eq!(decoded(&[0x87, 0x03]).len(), 1);
        assert_eq!(decoded(&[0x48, 0x87, 0xc3]), []);
        // lock cmpxchg16b (%rdi)
        assert_eq!(decoded(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f])[0].size, 16);
    }

    #[test]
    fn knows_operands_relative_to_the_instruction() {
        // lock addl $1,0x100(%rip)
        let found = decoded(&[0xf0, 0x83, 0x05, 0x00, 0x01, 0x00, 0x00, 0x01]);
        assert_eq!(found[0].relative, Some((0x1108, 3)));
    }

    #[test]
    fn takes_nothing_from_what_is_no_code() {
        // lock incl (%rdi); then 0x06, which is no instruction of 64 bits.
        assert_eq!(decoded(&[0xf0, 0xff, 0x07, 0x06]), []);
    }
}
