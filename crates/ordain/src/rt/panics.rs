//! Panics inside an execution: kept quiet, and remembered with their place.
//!
//! An exploration may meet the same panic thousands of times; it is told once, in the finding. The hook lets all other
//! panics of the process through to the hook that was there before.

use super::executor::{is_running, with_running};
use std::any::Any;
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
    with_running(|rt| rt.note_panic(message, location));
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
