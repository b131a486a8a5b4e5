//! Panics inside an execution: kept quiet, and remembered with their place.
//!
//! An exploration may meet the same panic thousands of times; it is told once, in the finding. The hook lets all other
//! panics of the process through to the hook that was there before.

use super::executor::{Runtime, is_running, with_running};
use std::any::Any;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Installs the hook, once for the process.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| if is_running() { remember(info) } else { previous(info) }));
    });
}

fn remember(info: &PanicHookInfo<'_>) {
    let location = info.location().map(|l| (l.file().to_owned(), l.line(), l.column()));
    let message = message(info.payload());
    with_running(|rt| {
        if rt.is_tearing_down() && std::thread::panicking() {
            tell_before_abort(rt, &message, location.as_ref());
        }
        rt.note_panic(message, location);
    });
}

/// A destructor panics while its thread is being unwound, which ends the process: says what is known before that.
fn tell_before_abort(rt: &Runtime, message: &str, location: Option<&(String, u32, u32)>) {
    let place = location.map_or_else(String::new, |(file, line, column)| format!(" at {file}:{line}:{column}"));
    let names = rt.arbiter.names();
    let steps: Vec<String> = rt.arbiter.execution().steps.iter().map(|s| names.thread_name(s.thread)).collect();
    // Not by a macro, whose output tests capture and lose when the process ends.
    let _ = writeln!(
        std::io::stderr(),
        "\nordain: an execution ended before its threads did ({}), and while they were unwound a destructor panicked{place}: \
         {message}\nordain: that ends the process. Destructors that assert something should first ask \
         std::thread::panicking(). The threads moved in this order: {}",
        rt.arbiter.execution().end.title(),
        steps.join(" ")
    );
}

/// What a panic says.
pub(super) fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is not a text".to_owned()
    }
}
