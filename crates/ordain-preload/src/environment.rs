//! The environment of the process, which threads share. Most programs only read it, or change it before there are threads; the first
//! that changes it beside others teaches the search that looking at it is a step too.

use crate::context::interpose;
use crate::engine::{engine, step};
use crate::files;
use crate::lessons::Lesson;
use crate::objects;
use crate::real::call_real;
use core::ffi::{c_char, c_int};
use ordain_model::{MemoryOrder, Operation};

interpose! {
    getenv => get; secure_getenv => get_securely;
    setenv => set; unsetenv => remove; putenv => put; clearenv => clear;
}

/// Stands for the address of the environment: no object of a program is there.
const PLACE: u64 = 12;

fn look() {
    if Lesson::Environment.is_known(engine()) && !engine().is_alone() {
        let (cell, _) = objects::futex(PLACE);
        step(Operation::Load { cell, order: MemoryOrder::SeqCst });
    }
}

fn change() {
    if !engine().is_alone() {
        Lesson::Environment.learn(engine());
        let (cell, _) = objects::futex(PLACE);
        step(Operation::Update { cell, order: MemoryOrder::SeqCst });
        files::order_with_children();
    }
}

unsafe extern "C" fn get(name: *const c_char) -> *mut c_char {
    look();
    // SAFETY: the program's name.
    unsafe { call_real!(getenv(name)) }
}

unsafe extern "C" fn get_securely(name: *const c_char) -> *mut c_char {
    look();
    // SAFETY: the program's name.
    unsafe { call_real!(secure_getenv(name)) }
}

unsafe extern "C" fn set(name: *const c_char, value: *const c_char, replace: c_int) -> c_int {
    change();
    // SAFETY: the program's words.
    unsafe { call_real!(setenv(name, value, replace)) }
}

unsafe extern "C" fn remove(name: *const c_char) -> c_int {
    change();
    // SAFETY: the program's name.
    unsafe { call_real!(unsetenv(name)) }
}

unsafe extern "C" fn put(text: *mut c_char) -> c_int {
    change();
    // SAFETY: the program's text.
    unsafe { call_real!(putenv(text)) }
}

unsafe extern "C" fn clear() -> c_int {
    change();
    // SAFETY: takes no arguments.
    unsafe { call_real!(clearenv()) }
}
