//! Switching between threads: registers, stack, and the base of thread-local storage; and the way into the runtime.
//!
//! Every interposed function begins with a stub that notes where it was called from and the registers that a callee must
//! keep. From there a backtrace can be made, and a cancelled thread can unwind as if it had called `pthread_exit` itself.

use core::arch::naked_asm;

/// The registers at the call of an interposed function: rip, rsp, rbp, rbx, r12, r13, r14, r15.
pub type Registers = [u64; 8];

/// Where stubs note registers: the running thread's slot, which begins with them. Never null.
pub static mut ORDAIN_CURRENT: *mut Registers = &raw mut NOBODY;
static mut NOBODY: Registers = [0; 8];

/// Instructions that note registers. They change only r10 and r11, which no argument is in.
macro_rules! noting {
    () => {
        "mov r11, qword ptr [rip + {current}@GOTPCREL]
        mov r11, qword ptr [r11]
        mov r10, qword ptr [rsp]
        mov qword ptr [r11], r10
        lea r10, [rsp + 8]
        mov qword ptr [r11 + 8], r10
        mov qword ptr [r11 + 16], rbp
        mov qword ptr [r11 + 24], rbx
        mov qword ptr [r11 + 32], r12
        mov qword ptr [r11 + 40], r13
        mov qword ptr [r11 + 48], r14
        mov qword ptr [r11 + 56], r15"
    };
}
pub(crate) use noting;

/// Instructions that look whether the thread was cancelled, and keep the arguments. A handler of a signal may run meanwhile, and a thread
/// that is cancelled in it unwinds through the stub.
macro_rules! looking {
    () => {
        "push rdi; push rsi; push rdx; push rcx; push r8; push r9; push rax
        .cfi_adjust_cfa_offset 56
        mov rdi, rsi
        mov esi, {point}
        call {look}
        pop rax; pop r9; pop r8; pop rcx; pop rdx; pop rsi; pop rdi
        .cfi_adjust_cfa_offset -56"
    };
}
pub(crate) use looking;

/// Instructions that go on with the C library's function, whose name is at label 5.
macro_rules! forwarding {
    () => {
        "push rdi; push rsi; push rdx; push rcx; push r8; push r9; push rax
        lea rdi, [rip + 5f]
        call {forward}
        mov r11, rax
        pop rax; pop r9; pop r8; pop rcx; pop rdx; pop rsi; pop rdi
        jmp r11"
    };
}
pub(crate) use forwarding;

/// Exports interposed functions, each with its stub. As long as the program is not under control, or no more, the C library's
/// function is called instead.
macro_rules! interpose {
    ($($name:ident => $to:path;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov r11, qword ptr [rip + {active}@GOTPCREL]",
                "cmp byte ptr [r11], 0",
                "je 3f",
                $crate::context::noting!(),
                "mov r11, qword ptr [rip + {cancels}@GOTPCREL]",
                "cmp byte ptr [r11], {flag}",
                "je 4f",
                "jmp {to}",
                "4:",
                $crate::context::looking!(),
                "jmp {to}",
                "3:",
                $crate::context::forwarding!(),
                concat!("5: .asciz \"", stringify!($name), "\""),
                ".cfi_endproc",
                active = sym $crate::engine::ORDAIN_ACTIVE,
                current = sym $crate::context::ORDAIN_CURRENT,
                cancels = sym $crate::cancellation::ORDAIN_CANCELS,
                flag = const $crate::cancellation::flag(stringify!($name)),
                point = const $crate::cancellation::point(stringify!($name)) as u8,
                look = sym $crate::cancellation::ordain_cancellation_point,
                to = sym $to,
                forward = sym $crate::real::forward,
            )
        }
    )*};
}
pub(crate) use interpose;

/// Exports cancellation points that are the C library's otherwise.
macro_rules! interpose_passing {
    ($($name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov r11, qword ptr [rip + {active}@GOTPCREL]",
                "cmp byte ptr [r11], 0",
                "je 3f",
                "mov r11, qword ptr [rip + {cancels}@GOTPCREL]",
                "cmp byte ptr [r11], {flag}",
                "jne 3f",
                $crate::context::noting!(),
                $crate::context::looking!(),
                "3:",
                $crate::context::forwarding!(),
                concat!("5: .asciz \"", stringify!($name), "\""),
                ".cfi_endproc",
                active = sym $crate::engine::ORDAIN_ACTIVE,
                current = sym $crate::context::ORDAIN_CURRENT,
                cancels = sym $crate::cancellation::ORDAIN_CANCELS,
                flag = const $crate::cancellation::flag(stringify!($name)),
                point = const $crate::cancellation::point(stringify!($name)) as u8,
                look = sym $crate::cancellation::ordain_cancellation_point,
                forward = sym $crate::real::forward,
            )
        }
    )*};
}
pub(crate) use interpose_passing;

/// Exports functions that are called too often to look the real one up each time: its address is in a variable.
macro_rules! interpose_directly {
    ($($name:ident => $to:path, $real:path;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov r11, qword ptr [rip + {active}@GOTPCREL]",
                "cmp byte ptr [r11], 0",
                "je 3f",
                noting!(),
                "jmp {to}",
                "3:",
                "mov r11, qword ptr [rip + {real}@GOTPCREL]",
                "mov r11, qword ptr [r11]",
                "test r11, r11",
                "je 4f",
                "jmp r11",
                "4:",
                $crate::context::forwarding!(),
                concat!("5: .asciz \"", stringify!($name), "\""),
                active = sym $crate::engine::ORDAIN_ACTIVE,
                current = sym $crate::context::ORDAIN_CURRENT,
                real = sym $real,
                to = sym $to,
                forward = sym $crate::real::forward,
            )
        }
    )*};
}
pub(crate) use interpose_directly;

/// Saves the running context behind `from` and continues the one whose stack pointer is `to`, with its thread-local storage.
#[unsafe(naked)]
pub unsafe extern "C" fn switch(from: *mut u64, to: u64, fs: u64) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "wrfsbase rdx",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Saves a context as [`switch`] does, tells `ready`, and lets the kernel thread wait for ever without touching its stack.
#[unsafe(naked)]
pub unsafe extern "C" fn park(save: *mut u64, ready: *mut u32, never: *const u32) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov r12, rdx",
        "mov dword ptr [rsi], 1",
        "mov rdi, rsi",
        "mov eax, 202",
        "mov esi, 1",
        "mov edx, 1",
        "syscall",
        "2:",
        "mov eax, 202",
        "mov rdi, r12",
        "xor esi, esi",
        "xor edx, edx",
        "xor r10d, r10d",
        "syscall",
        "jmp 2b",
    )
}

/// Leaves the runtime as if the interposed function had never been called, and its caller had called `target` with `argument`.
#[unsafe(naked)]
pub unsafe extern "C" fn leave_to(registers: *const Registers, target: usize, argument: usize) -> ! {
    naked_asm!(
        "mov rsp, [rdi + 8]",
        "sub rsp, 8",
        "mov rax, [rdi]",
        "mov [rsp], rax",
        "mov rbp, [rdi + 16]",
        "mov rbx, [rdi + 24]",
        "mov r12, [rdi + 32]",
        "mov r13, [rdi + 40]",
        "mov r14, [rdi + 48]",
        "mov r15, [rdi + 56]",
        "mov rdi, rdx",
        "jmp rsi",
    )
}

/// Calls main's frame on a stack that ends at `top`: with nothing above, and at the same place however deep the caller is.
#[unsafe(naked)]
pub unsafe extern "C" fn start_main(
    slot: *mut core::ffi::c_void,
    main: usize,
    argc: i32,
    argv: usize,
    envp: usize,
    top: u64,
    frame: usize,
) -> ! {
    naked_asm!("mov rax, [rsp + 8]", "mov rsp, r9", "xor ebp, ebp", "push 0", "jmp rax")
}

/// What the kernel returns to behind a signal handler.
#[unsafe(naked)]
pub unsafe extern "C" fn sigreturn() {
    naked_asm!("mov rax, 15", "syscall")
}

/// Returns from a signal handler whose frame is at `stack`.
#[unsafe(naked)]
pub unsafe extern "C" fn return_to(stack: usize) -> ! {
    naked_asm!("mov rsp, rdi", "mov rax, 15", "syscall")
}
