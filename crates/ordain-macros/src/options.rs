//! The options of the attribute: what stands in its parentheses, checked and turned into calls of `ordain::Check`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use std::fmt::Display;
use std::str::FromStr;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Lit, LitBool, LitInt, LitStr, Result, Token};

/// How the value of an option is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A number that fits into 32 bits.
    U32,
    /// A number that fits into 64 bits.
    U64,
    /// A number that fits into a `usize`.
    Usize,
    /// Nothing, or a truth value.
    Flag,
    /// A text with a number and a unit.
    Time,
    /// The name of a strategy.
    Strategy,
    /// What must be reached.
    Require,
    /// When timed waits may expire.
    Timeouts,
}

/// Every option and the form of its value; the method of `Check` has the same name.
const OPTIONS: [(&str, Form); 15] = [
    ("strategy", Form::Strategy),
    ("preemption_bound", Form::U32),
    ("delay_bound", Form::U32),
    ("max_executions", Form::U64),
    ("max_time", Form::Time),
    ("max_steps", Form::Usize),
    ("seed", Form::U64),
    ("pct_depth", Form::Usize),
    ("spin_bound", Form::U32),
    ("stack_size", Form::Usize),
    ("keep_going", Form::Flag),
    ("spurious_wakeups", Form::Flag),
    ("kind_time", Form::Flag),
    ("timeouts", Form::Timeouts),
    ("require", Form::Require),
];

/// Names of strategies, their variants, and whether they sample.
const STRATEGIES: [(&str, &str, bool); 9] = [
    ("dfs", "Dfs", false),
    ("dpor", "Dpor", false),
    ("source", "Source", false),
    ("optimal", "Optimal", false),
    ("random", "Random", true),
    ("urw", "Urw", true),
    ("pct", "Pct", true),
    ("pos", "Pos", true),
    ("portfolio", "Portfolio", false),
];

/// Units of time and how many milliseconds each has.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// The options of one attribute.
#[derive(Default)]
pub(crate) struct Options {
    /// Each option's name, and the call that sets it.
    given: Vec<(Ident, TokenStream)>,
    /// Whether the strategy samples, and where it is written.
    sampler: Option<(String, Span)>,
}

impl Options {
    /// The calls to make on a `Check`.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &TokenStream> {
        self.given.iter().map(|g| &g.1)
    }

    fn find(&self, name: &str) -> Option<&Ident> {
        self.given.iter().map(|g| &g.0).find(|given| *given == name)
    }

    /// Refuses options that contradict each other.
    fn check(&self) -> Result<()> {
        let (preemptions, delays) = (self.find("preemption_bound"), self.find("delay_bound"));
        if let (Some(_), Some(second)) = (preemptions, delays) {
            let message = "`preemption_bound` and `delay_bound` do not go together: a search has one bound";
            return Err(Error::new(second.span(), message));
        }
        match (&self.sampler, preemptions.or(delays)) {
            (Some((sampler, span)), Some(bound)) => Err(Error::new(
                *span,
                format!(
                    "`{bound}` does not go with the strategy `{sampler}`: bounds are for exhaustive search; leave one of \
                     the two out"
                ),
            )),
            _ => Ok(()),
        }
    }

    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name: Ident = input.parse()?;
        let Some(&(_, form)) = OPTIONS.iter().find(|o| name == o.0) else {
            // That of before is taken, and not offered.
            let valid = list(OPTIONS.iter().map(|o| o.0).filter(|name| *name != "kind_time"));
            return Err(Error::new(name.span(), format!("unknown option `{name}`; the options are {valid}")));
        };
        if self.find(&name.to_string()).is_some() {
            return Err(Error::new(name.span(), format!("`{name}` is given twice")));
        }
        let value = match (input.peek(Token![=]), form) {
            (false, Form::Flag) => quote!(true),
            (false, _) => {
                return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = {}`", example(form))));
            }
            (true, _) => {
                input.parse::<Token![=]>()?;
                self.value(&name, form, input)?
            }
        };
        let call = quote!(.#name(#value));
        self.given.push((name, call));
        Ok(())
    }

    fn value(&mut self, name: &Ident, form: Form, input: ParseStream<'_>) -> Result<TokenStream> {
        let expected =
            |span: Span| Error::new(span, format!("`{name}` is written like this: `{name} = {}`", example(form)));
        let span = input.span();
        let literal: Lit = input.parse().map_err(|_| expected(span))?;
        match (form, literal) {
            (Form::U32, Lit::Int(n)) => number::<u32>(name, &n).map(|n| quote!(#n)),
            (Form::U64, Lit::Int(n)) => number::<u64>(name, &n).map(|n| quote!(#n)),
            (Form::Usize, Lit::Int(n)) => number::<usize>(name, &n).map(|n| quote!(#n)),
            (Form::Flag, Lit::Bool(LitBool { value, .. })) => Ok(quote!(#value)),
            (Form::Time, Lit::Str(text)) => time(&text),
            (Form::Strategy, Lit::Str(text)) => self.strategy(&text),
            (Form::Require, Lit::Str(text)) => require(&text),
            (Form::Timeouts, Lit::Str(text)) => match text.value().as_str() {
                "any" => Ok(quote!(::ordain::Timeouts::Any)),
                "last" => Ok(quote!(::ordain::Timeouts::Last)),
                _ => Err(expected(text.span())),
            },
            (_, other) => Err(expected(other.span())),
        }
    }

    fn strategy(&mut self, text: &LitStr) -> Result<TokenStream> {
        let name = text.value();
        let Some((_, variant, samples)) = STRATEGIES.iter().find(|s| s.0 == name) else {
            let valid = list(STRATEGIES.iter().map(|s| s.0));
            return Err(Error::new(text.span(), format!("unknown strategy `{name}`; the strategies are {valid}")));
        };
        if *samples {
            self.sampler = Some((name, text.span()));
        }
        let variant = Ident::new(variant, Span::call_site());
        Ok(quote!(::ordain::Strategy::#variant))
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            options.parse_one(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        options.check()?;
        Ok(options)
    }
}

/// `a`, `b` and `c`.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// A value of the form, for messages.
fn example(form: Form) -> &'static str {
    match form {
        Form::U32 | Form::U64 | Form::Usize => "10",
        Form::Flag => "true",
        Form::Time => "\"5s\"",
        Form::Strategy => "\"optimal\"",
        Form::Require => "\"verified\"",
        Form::Timeouts => "\"last\"",
    }
}

fn number<N: FromStr>(name: &Ident, literal: &LitInt) -> Result<N>
where
    N::Err: Display,
{
    let bits = 8 * size_of::<N>();
    let parsed = if literal.suffix().is_empty() { literal.base10_parse().ok() } else { None };
    parsed.ok_or_else(|| {
        Error::new(literal.span(), format!("`{name}` is a number of at most {bits} bits, without a suffix"))
    })
}

/// `verified` or `share=90%`, as `ordain::Require` reads it.
fn require(literal: &LitStr) -> Result<TokenStream> {
    let text = literal.value();
    if text == "verified" {
        return Ok(quote!(::ordain::Require::Verified));
    }
    let percent = text.strip_prefix("share=").and_then(|share| share.strip_suffix('%'));
    let percent = percent.and_then(|percent| percent.trim().parse::<f64>().ok()).filter(|p| *p > 0.0 && *p <= 100.0);
    let Some(percent) = percent else {
        let message =
            format!("`{text}` cannot be required: write \"verified\", or a share of the classes such as \"share=90%\"");
        return Err(Error::new(literal.span(), message));
    };
    let share = percent / 100.0;
    Ok(quote!(::ordain::Require::Share(#share)))
}

fn time(literal: &LitStr) -> Result<TokenStream> {
    let text = literal.value();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|u| u.0 == unit.trim()).map(|u| u.1);
    let milliseconds = number.parse::<u64>().ok().zip(factor).and_then(|(n, factor)| n.checked_mul(factor));
    let Some(milliseconds) = milliseconds else {
        let message =
            format!("`{text}` is not a time: write a number and a unit, such as \"500ms\", \"5s\", \"2m\" or \"1h\"");
        return Err(Error::new(literal.span(), message));
    };
    Ok(quote!(::core::time::Duration::from_millis(#milliseconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that options turn into, or the message of the error.
    fn calls(tokens: TokenStream) -> std::result::Result<String, String> {
        let options: Options = syn::parse2(tokens).map_err(|e| e.to_string())?;
        Ok(options.calls().map(|c| c.to_string().replace(' ', "")).collect())
    }

    #[test]
    fn every_option_becomes_a_call() {
        let all = quote!(
            strategy = "portfolio",
            max_executions = 1000,
            max_time = "5s",
            preemption_bound = 2,
            seed = 7,
            keep_going,
            max_steps = 100,
            spurious_wakeups,
            kind_time,
            spin_bound = 3,
            stack_size = 131_072,
            pct_depth = 3,
            require = "verified",
            timeouts = "last",
        );
        assert_eq!(
            calls(all).as_deref(),
            Ok(".strategy(::ordain::Strategy::Portfolio).max_executions(1000u64)\
                .max_time(::core::time::Duration::from_millis(5000u64)).preemption_bound(2u32).seed(7u64)\
                .keep_going(true).max_steps(100usize).spurious_wakeups(true).kind_time(true).spin_bound(3u32)\
                .stack_size(131072usize).pct_depth(3usize).require(::ordain::Require::Verified).timeouts(::ordain::Timeouts::Last)")
        );
        assert_eq!(calls(quote!(delay_bound = 1)).as_deref(), Ok(".delay_bound(1u32)"));
        assert_eq!(calls(quote!()).as_deref(), Ok(""));
    }

    #[test]
    fn every_strategy_has_a_name() {
        for (name, variant, _) in STRATEGIES {
            let text = format!(".strategy(::ordain::Strategy::{variant})");
            assert_eq!(calls(quote!(strategy = #name)), Ok(text));
        }
    }

    #[test]
    fn flags_may_have_a_value() {
        assert_eq!(calls(quote!(keep_going = false)).as_deref(), Ok(".keep_going(false)"));
        let error = calls(quote!(keep_going = 3)).expect_err("wrong options");
        assert_eq!(error, "`keep_going` is written like this: `keep_going = true`");
    }

    #[test]
    fn times_have_units() {
        let milliseconds = |text: &str| calls(quote!(max_time = #text));
        for (text, expected) in [("500ms", "500"), ("5s", "5000"), ("2m", "120000"), ("1h", "3600000"), ("3 s", "3000")]
        {
            let expected = format!(".max_time(::core::time::Duration::from_millis({expected}u64))");
            assert_eq!(milliseconds(text), Ok(expected));
        }
        for wrong in ["", "5", "s", "-5s", "5 weeks", "99999999999999999999s", "9999999999999999999h", "1.5s"] {
            assert!(milliseconds(wrong).expect_err("wrong options").contains("is not a time"), "{wrong}");
        }
    }

    #[test]
    fn a_share_may_be_required() {
        let calls = |text: &str| calls(quote!(require = #text));
        assert_eq!(calls("share=90%").as_deref(), Ok(".require(::ordain::Require::Share(0.9f64))"));
        for wrong in ["all", "90%", "share=90", "share=0%", "share=101%", "share=NaN%"] {
            assert!(calls(wrong).expect_err("wrong options").contains("cannot be required"), "{wrong}");
        }
    }

    #[test]
    fn unknown_names_are_told_with_the_known_ones() {
        let error = calls(quote!(max_exec = 3)).expect_err("wrong options");
        assert!(
            error.starts_with("unknown option `max_exec`; the options are `strategy`, `preemption_bound`"),
            "{error}"
        );
        assert!(error.ends_with("and `require`"), "{error}");
        let error = calls(quote!(strategy = "best")).expect_err("wrong options");
        assert!(error.starts_with("unknown strategy `best`; the strategies are `dfs`, `dpor`"), "{error}");
    }

    #[test]
    fn wrong_values_are_told() {
        let error = |tokens| calls(tokens).expect_err("wrong options");
        assert_eq!(error(quote!(seed)), "`seed` needs a value: `seed = 10`");
        assert_eq!(error(quote!(strategy)), "`strategy` needs a value: `strategy = \"optimal\"`");
        assert_eq!(error(quote!(seed = "7")), "`seed` is written like this: `seed = 10`");
        assert_eq!(error(quote!(seed = 7, seed = 8)), "`seed` is given twice");
        assert_eq!(error(quote!(max_time = 5)), "`max_time` is written like this: `max_time = \"5s\"`");
        assert_eq!(
            error(quote!(spin_bound = 4294967296)),
            "`spin_bound` is a number of at most 32 bits, without a suffix"
        );
        assert_eq!(error(quote!(seed = 7u8)), "`seed` is a number of at most 64 bits, without a suffix");
        assert_eq!(error(quote!(timeouts = "late")), "`timeouts` is written like this: `timeouts = \"last\"`");
        assert!(error(quote!(seed = 7 keep_going)).contains("expected `,`"));
        assert!(error(quote!("pct")).contains("expected identifier"));
    }

    #[test]
    fn contradictions_are_told() {
        let error = calls(quote!(preemption_bound = 1, delay_bound = 2)).expect_err("wrong options");
        assert!(error.contains("do not go together"), "{error}");
        let error = calls(quote!(delay_bound = 1, strategy = "pct")).expect_err("wrong options");
        assert!(error.starts_with("`delay_bound` does not go with the strategy `pct`"), "{error}");
    }
}
