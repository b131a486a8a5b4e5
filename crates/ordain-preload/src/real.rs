//! The C library's own functions, looked up once.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

/// The address of the next definition of a function.
pub fn next(name: &CStr) -> usize {
    // SAFETY: looks up a symbol.
    unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize }
}

/// The C library's function that an interposed one stands for, while the program is not under control.
pub unsafe extern "C" fn forward(name: *const c_char) -> usize {
    // SAFETY: the name of an interposed function.
    let name = unsafe { CStr::from_ptr(name) };
    if name == c"pthread_create" && crate::link::is_connected() && !crate::engine::is_there() {
        crate::link::refuse(format_args!(
            "the program makes threads before main begins (in a constructor); such threads cannot be controlled"
        ));
    }
    if name == c"__register_atfork" {
        return crate::children::handlers::register as *const () as usize;
    }
    if crate::handles::in_child()
        && let Some(address) = crate::children::stand_in(name)
    {
        return address;
    }
    match next(name) {
        0 => missing as *const () as usize,
        address => address,
    }
}

/// Stands for functions that this C library does not have.
extern "C" fn missing() -> c_int {
    libc::ENOSYS
}

/// Declares real functions: each is looked up by [`look_up`].
macro_rules! real {
    ($($name:ident: $type:ty;)*) => {
        $(
            #[allow(non_upper_case_globals, missing_docs)]
            pub static mut $name: Option<$type> = None;
        )*

        /// Looks up all of them.
        pub fn look_up() {
            $(
                let name = concat!(stringify!($name), "\0");
                // SAFETY: the name ends with a zero; a symbol of this name has this type, or is not there.
                unsafe {
                    let address = next(CStr::from_bytes_with_nul_unchecked(name.as_bytes()));
                    $name = core::mem::transmute::<usize, Option<$type>>(address);
                }
            )*
        }
    };
}

type P = *mut c_void;
type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

real! {
    pthread_create: unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;
    pthread_exit: unsafe extern "C" fn(*mut c_void) -> !;
    __pthread_register_cancel_defer: unsafe extern "C" fn(P);
    __pthread_unregister_cancel_restore: unsafe extern "C" fn(P);
    pthread_attr_getsigmask_np: unsafe extern "C" fn(*const libc::pthread_attr_t, *mut libc::sigset_t) -> c_int;
    pthread_getattr_np: unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> c_int;
    pthread_key_create: unsafe extern "C" fn(*mut u32, Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    pthread_key_delete: unsafe extern "C" fn(u32) -> c_int;
    exit: unsafe extern "C" fn(c_int) -> !;
    __cxa_atexit: unsafe extern "C" fn(Option<unsafe extern "C" fn(P, c_int)>, P, P) -> c_int;
    shmget: unsafe extern "C" fn(c_int, usize, c_int) -> c_int;
    semget: unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
    msgget: unsafe extern "C" fn(c_int, c_int) -> c_int;
    mq_open: unsafe extern "C" fn(*const c_char, c_int, u32, P) -> c_int;
    shm_open: unsafe extern "C" fn(*const c_char, c_int, u32) -> c_int;
    on_exit: unsafe extern "C" fn(Option<unsafe extern "C" fn(c_int, P)>, P) -> c_int;
    __cxa_at_quick_exit: unsafe extern "C" fn(unsafe extern "C" fn(), P) -> c_int;
    pthread_setconcurrency: unsafe extern "C" fn(c_int) -> c_int;
    pthread_getconcurrency: unsafe extern "C" fn() -> c_int;
    quick_exit: unsafe extern "C" fn(c_int) -> !;
    mmap: unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void;
    fclose: unsafe extern "C" fn(*mut libc::FILE) -> c_int;
    fopen: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;
    fork: unsafe extern "C" fn() -> c_int;
    posix_spawn: unsafe extern "C" fn(P, P, P, P, P, P) -> c_int;
    posix_spawnp: unsafe extern "C" fn(P, P, P, P, P, P) -> c_int;
    system: unsafe extern "C" fn(*const c_char) -> c_int;
    popen: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
    rand: unsafe extern "C" fn() -> c_int;
    random: unsafe extern "C" fn() -> c_long;
    srandom: unsafe extern "C" fn(u32);
    lrand48: unsafe extern "C" fn() -> c_long;
    mrand48: unsafe extern "C" fn() -> c_long;
    drand48: unsafe extern "C" fn() -> f64;
    srand48: unsafe extern "C" fn(c_long);
    getenv: unsafe extern "C" fn(*const c_char) -> *mut c_char;
    secure_getenv: unsafe extern "C" fn(*const c_char) -> *mut c_char;
    setenv: unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
    unsetenv: unsafe extern "C" fn(*const c_char) -> c_int;
    putenv: unsafe extern "C" fn(*mut c_char) -> c_int;
    clearenv: unsafe extern "C" fn() -> c_int;
    flockfile: unsafe extern "C" fn(*mut libc::FILE);
    funlockfile: unsafe extern "C" fn(*mut libc::FILE);
    sysconf: unsafe extern "C" fn(c_int) -> c_long;
    dlopen: unsafe extern "C" fn(*const c_char, c_int) -> P;
    dlmopen: unsafe extern "C" fn(c_long, *const c_char, c_int) -> P;
    dlclose: unsafe extern "C" fn(P) -> c_int;
    sigqueue: unsafe extern "C" fn(c_int, c_int, usize) -> c_int;
    sigaction: unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
}

/// Calls a real function; ends the process if the C library does not have it.
macro_rules! call_real {
    ($name:ident ( $($argument:expr),* )) => {{
        if (&raw const $crate::real::$name).read().is_none() {
            $crate::real::look_up();
        }
        match (&raw const $crate::real::$name).read() {
            Some(function) => function($($argument),*),
            None => $crate::link::break_down(format_args!("the C library has no {}", stringify!($name))),
        }
    }};
}
pub(crate) use call_real;

/// Sets errno.
pub fn set_errno(value: i32) {
    // SAFETY: the running thread's errno.
    unsafe { *__errno_location() = value };
}

/// Loads a library for good.
pub fn load(name: &CStr) {
    // SAFETY: a library of the system.
    unsafe { call_real!(dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL)) };
}

/// Turns what a system call returned into what the C library's function returns.
pub fn c_result(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        set_errno(-result as i32);
        -1
    } else {
        result
    }
}
