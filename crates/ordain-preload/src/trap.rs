//! Signals that the runtime itself needs: crashes, system calls that the kernel sends back, the processor's time, hangs.

use crate::cancellation;
use crate::context::{return_to, sigreturn};
use crate::dispatch;
use crate::engine::{self, active, engine};
use crate::files;
use crate::filter;
use crate::handles;
use crate::image;
use crate::link::{self, is_connected};
use crate::process;
use crate::signals;
use crate::spin;
use crate::sys::{self, call};
use crate::watch;
use core::ffi::{c_int, c_void};
use ordain_wire::{Class, Ending, Mode, system_call};

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
        // What it leads instruction by instruction is stopped behind the handler, not in it.
        mask: if signal == libc::SIGTRAP { 1 << (spin::TICK - 1) } else { 0 },
    };
    // SAFETY: a handler that lives as long as the process.
    unsafe { call!(sys::SYS_rt_sigaction, signal, &raw const action, 0, 8) };
}

/// Signals that mean a crash.
pub const CRASHES: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS];
/// Those of them that instructions of the program cause.
pub const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];

/// Answers system calls that a filter of the launcher sends back, before the program is under control or in its children.
pub fn pass_through() {
    handle(libc::SIGSYS, on_call, 0);
}

/// Takes over all signals that are needed, and asks the kernel to send system calls back.
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
    // On the thread's own stack, because it may switch away.
    handle(spin::TICK, spin::on_tick, libc::SA_RESTART);
    // A filter outlives `exec`, and the programs that children become have no handler for what it sends back. So there is one only where
    // children cannot be, or where the kernel has no other way.
    let whole = engine().mode == Mode::Snapshot;
    if whole || !dispatch::is_offered() {
        filter::install(whole);
    }
}

/// Lets a fault be handled on the stack of the thread that causes it, or on one of our own.
pub fn take_fault_on(signal: c_int, own_stack: bool) {
    /// Faults that are handled on the stack of their thread.
    static mut ON_THREAD: u64 = 0;
    // SAFETY: only the carrier comes here.
    unsafe {
        if (ON_THREAD >> signal & 1 != 0) != own_stack {
            ON_THREAD ^= 1 << signal;
            handle(signal, on_crash, if own_stack { 0 } else { libc::SA_ONSTACK });
        }
    }
}

unsafe extern "C" fn on_crash(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel's arguments.
    let code = unsafe {
        watch::put_back(&mut *context);
        (*info).si_code
    };
    // SAFETY: the kernel's argument.
    let stopped = signal == libc::SIGTRAP && unsafe { watch::on_breakpoint(code, &mut *context) };
    // SAFETY: the kernel's argument.
    if stopped || signal == libc::SIGTRAP && spin::on_instruction(unsafe { &mut *context }) {
        return;
    }
    // SAFETY: the kernel's arguments.
    let (registers, code, address) = unsafe { (&mut (*context).uc_mcontext.gregs, (*info).si_code, (*info).si_addr()) };
    if signal == libc::SIGSEGV && code == 0x80 && read_time(registers) {
        return;
    }
    if !active() {
        if is_connected() {
            link::break_down(format_args!(
                "signal {signal} outside the program, at {:#x}, about {address:p}",
                registers[libc::REG_RIP as usize]
            ));
        }
        sys::exit_group(128 + signal);
    }
    let is_own = {
        let (low, high) = image::own().text;
        (low..high).contains(&(registers[libc::REG_RIP as usize] as u64))
    };
    note_registers(registers);
    // SAFETY: the kernel's arguments.
    if !is_own && unsafe { signals::take_fault(signal, info, context) } {
        return;
    }
    let ending = if signal == libc::SIGABRT { Ending::Abort } else { Ending::Signal };
    engine::crash(ending, signal, address as u64, format_args!(""))
}

/// If the fault is in the program, its backtrace begins there; in the runtime, at the call.
pub fn note_registers(registers: &[i64; 23]) {
    let rip = registers[libc::REG_RIP as usize] as u64;
    if is_own(rip) {
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

/// A system call that the kernel sent back. Runs on the thread's own stack, so it may switch away.
unsafe extern "C" fn on_call(_signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel's arguments.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        let number = i64::from(*((info as *const u8).add(24) as *const i32));
        if *((info as *const u8).add(28) as *const u32) != filter::ARCHITECTURE {
            link::refuse(format_args!("the program makes system calls of another architecture"));
        }
        let at = |register: c_int| registers[register as usize] as usize;
        let arguments = [
            at(libc::REG_RDI),
            at(libc::REG_RSI),
            at(libc::REG_RDX),
            at(libc::REG_R10),
            at(libc::REG_R8),
            at(libc::REG_R9),
        ];
        if number == libc::SYS_rt_sigreturn {
            // Back from a handler that was not ours: its frame is where it was.
            return_to(at(libc::REG_RSP));
        }
        let controlled = active() && engine().slots[engine().current].fs == sys::fs_base();
        if controlled {
            cancellation::note_system_call(number);
        }
        let mine = controlled && is_ours(number, &arguments, info);
        let result = if mine {
            // Which calls come back depends on the mode, so nothing of them may stay in what is told of later steps.
            let before = engine().slots[engine().current].registers;
            note_registers(registers);
            crate::streams::note_system_call(at(libc::REG_RSP) as u64);
            let result = process::raw_call(number, arguments);
            engine().slots[engine().current].registers = before;
            result
        } else {
            let [a, b, c, d, e, f] = if active() { handles::with_real_numbers(number, arguments) } else { arguments };
            sys::syscall6(number, a, b, c, d, e, f)
        };
        (&mut (*context).uc_mcontext.gregs)[libc::REG_RAX as usize] = result as i64;
    }
}

/// Whether an instruction is one of ours.
pub fn is_own(address: u64) -> bool {
    let (low, high) = image::own().text;
    (low..high).contains(&address)
}

/// Whether a call that was sent back is for the model: all that the filter sends or would have sent, and of the others those that are
/// followed.
unsafe fn is_ours(number: i64, arguments: &[usize; 6], info: *const libc::siginfo_t) -> bool {
    /// The code of calls that are sent back whatever they are.
    const USER_DISPATCH: c_int = 2;
    /// The lowest number of a call that is said not to be there.
    const FIRST_ABSENT: i64 = libc::SYS_pkey_alloc;
    // SAFETY: the kernel's argument.
    let code = unsafe { (*info).si_code };
    let asks = number == libc::SYS_rt_sigaction && arguments[1] == 0;
    code != USER_DISPATCH
        || matches!(number, libc::SYS_futex | libc::SYS_sched_yield | libc::SYS_getrandom)
        || matches!(number, libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork)
        || number >= FIRST_ABSENT && system_call(number).0 == Class::Absent
        || files::is_followed(number)
        || signals::is_followed(number, arguments)
        || files::is_shared(number)
        || engine().mode == Mode::Snapshot && !asks && !system_call(number).0.is_free()
}
