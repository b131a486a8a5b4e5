//! Signals that the runtime itself needs: crashes, system calls that the kernel sends back, the processor's time, hangs.

use crate::context::sigreturn;
use crate::engine::{self, active, control, engine, is_connected};
use crate::process;
use crate::sys::{self, call};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use ordain_wire::Ending;

/// What the kernel wants to know of a handler.
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

const RESTORER: u64 = 0x0400_0000;

/// Installs a handler of our own.
fn handle(
    signal: c_int,
    handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::ucontext_t),
    flags: c_int,
) {
    let action = Action {
        handler: handler as usize,
        flags: (flags | libc::SA_SIGINFO | libc::SA_NODEFER) as u32 as u64 | RESTORER,
        restorer: sigreturn as *const () as usize,
        mask: 0,
    };
    // SAFETY: a handler that lives as long as the process.
    unsafe { call!(sys::SYS_rt_sigaction, signal, &raw const action, 0, 8) };
}

/// Signals that mean a crash.
pub const CRASHES: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS];
/// The launcher's sign that an execution hangs.
pub const HANG: c_int = libc::SIGVTALRM;

/// Answers system calls that a filter of the launcher sends back, before the program is under control or in its children.
pub fn pass_through() {
    handle(libc::SIGSYS, on_call, 0);
}

/// Takes over all signals that are needed, and asks the kernel to send raw futex calls back.
pub fn install() {
    // SAFETY: a stack of our own for handlers of crashes.
    unsafe {
        let size = 256 << 10;
        let stack = libc::stack_t { ss_sp: sys::map_shared(size) as *mut c_void, ss_flags: 0, ss_size: size };
        call!(sys::SYS_sigaltstack, &raw const stack, 0);
    }
    for signal in CRASHES {
        handle(signal, on_crash, libc::SA_ONSTACK);
    }
    handle(libc::SIGSYS, on_call, 0);
    handle(HANG, on_hang, libc::SA_ONSTACK);
    install_filter();
}

unsafe extern "C" fn on_crash(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel's arguments.
    let (registers, code, address) = unsafe { (&mut (*context).uc_mcontext.gregs, (*info).si_code, (*info).si_addr()) };
    if signal == libc::SIGSEGV && code == 0x80 && read_time(registers) {
        return;
    }
    if !active() {
        if is_connected() {
            engine::break_down(format_args!(
                "signal {signal} outside the program, at {:#x}, about {address:p}",
                registers[libc::REG_RIP as usize]
            ));
        }
        sys::exit_group(128 + signal);
    }
    note_registers(registers);
    control().address.store(address as u64, Relaxed);
    engine::end(if signal == libc::SIGABRT { Ending::ABORT } else { Ending::SIGNAL }, signal)
}

/// If the fault is in the program, its backtrace begins there; in the runtime, at the call.
fn note_registers(registers: &[i64; 23]) {
    let rip = registers[libc::REG_RIP as usize] as u64;
    let (low, high) = own_text();
    if (low..high).contains(&rip) {
        return;
    }
    let e = engine();
    e.slots[e.current].registers = [
        rip,
        registers[libc::REG_RSP as usize] as u64,
        registers[libc::REG_RBP as usize] as u64,
        registers[libc::REG_RBX as usize] as u64,
        registers[libc::REG_R12 as usize] as u64,
        registers[libc::REG_R13 as usize] as u64,
        registers[libc::REG_R14 as usize] as u64,
        registers[libc::REG_R15 as usize] as u64,
    ];
}

/// Emulates reading the processor's time; false if it is something else.
fn read_time(registers: &mut [i64; 23]) -> bool {
    let rip = registers[libc::REG_RIP as usize] as *const u8;
    // SAFETY: the instruction that faulted.
    let code = unsafe { [rip.read(), rip.add(1).read(), rip.add(2).read()] };
    let length = match code {
        [0x0f, 0x31, _] => 2,
        [0x0f, 0x01, 0xf9] => 3,
        _ => return false,
    };
    let now = if active() {
        crate::time::advance(30);
        crate::time::now()
    } else {
        0
    };
    registers[libc::REG_RAX as usize] = (now & 0xffff_ffff) as i64;
    registers[libc::REG_RDX as usize] = (now >> 32) as i64;
    if length == 3 {
        registers[libc::REG_RCX as usize] = 0;
    }
    registers[libc::REG_RIP as usize] += length;
    true
}

/// The launcher says that nothing happens any more.
unsafe extern "C" fn on_hang(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    if !active() || control().hang.swap(0, Relaxed) == 0 {
        return;
    }
    // SAFETY: the kernel's argument.
    note_registers(unsafe { &(*context).uc_mcontext.gregs });
    engine::end(Ending::HANG, 0)
}

/// A system call that the kernel sent back. Runs on the thread's own stack, so it may switch away.
unsafe extern "C" fn on_call(_signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel's arguments.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        let number = i64::from(*((info as *const u8).add(24) as *const i32));
        let at = |register: c_int| registers[register as usize] as usize;
        let arguments = [
            at(libc::REG_RDI),
            at(libc::REG_RSI),
            at(libc::REG_RDX),
            at(libc::REG_R10),
            at(libc::REG_R8),
            at(libc::REG_R9),
        ];
        let mine = active() && engine().slots[engine().current].fs == sys::fs_base();
        let result = if mine {
            note_registers(registers);
            process::raw_call(number, arguments)
        } else {
            let [a, b, c, d, e, f] = arguments;
            sys::syscall6(number, a, b, c, d, e, f)
        };
        (&mut (*context).uc_mcontext.gregs)[libc::REG_RAX as usize] = result as i64;
    }
}

/// Where our own code is.
pub fn own_text() -> (u64, u64) {
    static mut TEXT: (u64, u64) = (0, 0);
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader's description of a library.
        unsafe {
            let headers = core::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            let base = (*info).dlpi_addr;
            let me = own_text as *const () as u64;
            let text = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            for header in text {
                let (low, high) = (base + header.p_vaddr, base + header.p_vaddr + header.p_memsz);
                if (low..high).contains(&me) {
                    *(found as *mut (u64, u64)) = (low, high);
                    return 1;
                }
            }
        }
        0
    }
    // SAFETY: filled in once, before the program is under control.
    unsafe {
        if TEXT.1 == 0 {
            let mut found = (0, 0);
            libc::dl_iterate_phdr(Some(each), (&raw mut found) as *mut c_void);
            TEXT = found;
        }
        TEXT
    }
}

/// Asks the kernel to send futex and sched_yield calls back, but for our own.
fn install_filter() {
    let (low, high) = own_text();
    if low >> 32 != high >> 32 {
        // Cannot be told apart with 32-bit comparisons; such a mapping is as good as impossible.
        return;
    }
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let (equal, at_least, above) = (
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
        libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K,
    );
    let ret = libc::BPF_RET | libc::BPF_K;
    // Offsets in seccomp_data: number 0, architecture 4, instruction pointer 8.
    let filter = [
        statement(load, 0),
        jump(equal, libc::SYS_futex as u32, 2, 0),
        jump(equal, libc::SYS_sched_yield as u32, 1, 0),
        statement(ret, libc::SECCOMP_RET_ALLOW),
        statement(load, 12),
        jump(equal, (low >> 32) as u32, 0, 4),
        statement(load, 8),
        jump(at_least, low as u32, 0, 2),
        jump(above, high as u32, 1, 0),
        statement(ret, libc::SECCOMP_RET_ALLOW),
        statement(ret, libc::SECCOMP_RET_TRAP),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr() as *mut libc::sock_filter };
    // SAFETY: a filter that only sends calls back to us.
    unsafe {
        call!(sys::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        call!(sys::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program);
    }
}
