//! The attribute `#[ordain::test]`. Use it through the crate `ordain`, which re-exports it.
//!
//! `options` reads what stands in the parentheses, `expand` writes the test. Both work on `proc_macro2` streams, so that
//! they can be tested without a compiler.

mod expand;
mod options;

use proc_macro::TokenStream;

/// # Options
/// | option | value | as in |
/// |---|---|---|
/// | `strategy` | `"dfs"`, `"dpor"`, `"source"`, `"optimal"`, `"random"`, `"urw"`, `"pct"`, `"pos"`, `"portfolio"` | `Check::strategy` |
/// | `preemption_bound`, `delay_bound` | number | `Check::preemption_bound`, `Check::delay_bound` |
/// | `max_executions` | number | `Check::max_executions` |
/// | `max_time` | text: `"500ms"`, `"5s"`, `"2m"`, `"1h"` | `Check::max_time` |
/// | `max_steps` | number | `Check::max_steps` |
/// | `seed` | number | `Check::seed` |
/// | `pct_depth` | number | `Check::pct_depth` |
/// | `spin_bound` | number | `Check::spin_bound` |
/// | `stack_size` | bytes | `Check::stack_size` |
/// | `require` | `"verified"` or a share of the classes: `"share=90%"` | `Check::require` |
/// | `timeouts` | `"any"`, `"last"` | `Check::timeouts` |
/// | `keep_going`, `spurious_wakeups` | none, or `true` or `false` | the methods of the same names |
///
/// The function takes no arguments, is neither `async` nor generic, and returns nothing or a `Result<(), E>` whose `E` is
/// `Debug`; an `Err` fails the test. Other attributes, such as `#[ignore]` and `#[should_panic]`, keep their meaning.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(options.into(), item.into()).into()
}
