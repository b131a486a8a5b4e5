//! Loading and unloading libraries, which the C library does under a lock of its own; constructors and destructors run under it.
//!
//! That lock is not modelled: a constructor that takes a lock of the program, and a thread that holds this one and uses the loader (also by
//! `dlsym`), wait for each other in orders that no search thinks of. So loading beside other threads is noted. The functions themselves are
//! entered as if the program had called them, because the loader looks who its caller is.

use crate::unmodelled::{Unmodelled, note_if_shared};

/// The running thread loads or unloads a library.
unsafe extern "C" fn note_use() {
    note_if_shared(Unmodelled::Loader);
}

/// Exports functions that are noted, and go on as the C library's with the caller's address. Where that is was looked up before: looking it up
/// takes the loader's lock.
macro_rules! interpose_noted {
    ($($name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov r11, qword ptr [rip + {active}@GOTPCREL]",
                "cmp byte ptr [r11], 0",
                "je 3f",
                $crate::context::noting!(),
                "push rdi; push rsi; push rdx; push rcx; push r8; push r9; push rax",
                "call {note}",
                "pop rax; pop r9; pop r8; pop rcx; pop rdx; pop rsi; pop rdi",
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
                note = sym note_use,
                real = sym $crate::real::$name,
                forward = sym $crate::real::forward,
            )
        }
    )*};
}

interpose_noted! {
    dlopen;
    dlmopen;
    dlclose;
}
