//! Writes the test: an ordinary `#[test]` whose body is a check of the function.

use crate::options::Options;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, ItemFn, Result, ReturnType, Type};

/// The test that takes the place of `item`, or the errors to show.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    try_expand(options, item).unwrap_or_else(Error::into_compile_error)
}

fn try_expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)
        .map_err(|e| Error::new(e.span(), format!("#[ordain::test] goes on a function with a body ({e})")))?;
    // Everything that is wrong is told at once.
    let options = match (syn::parse2::<Options>(options), refuse(&function)) {
        (Ok(options), Ok(())) => options,
        (Ok(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            return Err(error);
        }
    };
    let ItemFn { attrs, vis, sig, block } = &function;
    let name = &sig.ident;
    let text = name.to_string();
    let calls = options.calls();
    let program = match &sig.output {
        ReturnType::Type(_, ty) if !is_nothing(ty) => quote_spanned! {ty.span()=>
            || {
                let result: ::core::result::Result<(), _> = #name();
                if let ::core::result::Result::Err(error) = result {
                    ::core::panic!("the test returned an error: {error:?}");
                }
            }
        },
        _ => quote!(|| { #name(); }),
    };
    Ok(quote! {
        #(#attrs)*
        #[::core::prelude::v1::test]
        #vis fn #name() {
            #sig #block
            // As libtest calls the test: the path of the module without the crate.
            let path = ::core::concat!(::core::module_path!(), "::", #text);
            let check = path.split_once("::").map_or(path, |(_, name)| name);
            ::ordain::Check::new().name(check) #(#calls)* .run(#program).expect_no_finding();
        }
    })
}

/// Refuses functions that cannot be tests.
fn refuse(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    let mut errors: Vec<Error> = Vec::new();
    let mut tell = |tokens: &dyn quote::ToTokens, message: &str| errors.push(Error::new_spanned(tokens, message));
    if let Some(word) = &sig.asyncness {
        tell(
            word,
            "#[ordain::test] functions cannot be `async`: run the future inside, with an executor made of Ordain's types",
        );
    }
    if let Some(word) = &sig.constness {
        tell(word, "#[ordain::test] functions cannot be `const`");
    }
    if let Some(word) = &sig.unsafety {
        tell(word, "#[ordain::test] functions cannot be `unsafe`: use an `unsafe` block inside");
    }
    if let Some(abi) = &sig.abi {
        tell(abi, "#[ordain::test] functions cannot be `extern`");
    }
    if !sig.generics.params.is_empty() {
        tell(
            &sig.generics.params,
            "#[ordain::test] functions cannot be generic: write a test for each type that calls a generic function",
        );
    }
    if !sig.inputs.is_empty() {
        tell(
            &sig.inputs,
            "#[ordain::test] functions take no arguments: make the values inside, with ordain::choose to explore several",
        );
    }
    if let Some(attribute) = function.attrs.iter().find(|a| a.path().is_ident("test")) {
        tell(attribute, "#[ordain::test] makes the function a test by itself: remove this attribute");
    }
    errors
        .into_iter()
        .reduce(|mut all, error| {
            all.combine(error);
            all
        })
        .map_or(Ok(()), Err)
}

/// Whether a return type says that there is nothing to look at.
fn is_nothing(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => tuple.elems.is_empty(),
        Type::Never(_) => true,
        Type::Paren(inner) => is_nothing(&inner.elem),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansion as one line without spaces.
    fn expanded(options: TokenStream, item: TokenStream) -> String {
        expand(options, item).to_string().replace([' ', '\n'], "")
    }

    #[test]
    fn a_function_becomes_a_test_with_its_name() {
        let text = expanded(
            quote!(seed = 7, keep_going),
            quote!(
                fn transfer() {
                    work();
                }
            ),
        );
        assert_eq!(
            text,
            "#[::core::prelude::v1::test]fntransfer(){fntransfer(){work();}\
             letpath=::core::concat!(::core::module_path!(),\"::\",\"transfer\");\
             letcheck=path.split_once(\"::\").map_or(path,|(_,name)|name);\
             ::ordain::Check::new().name(check).seed(7u64).keep_going(true).run(||{transfer();}).expect_no_finding();}"
        );
    }

    #[test]
    fn attributes_and_visibility_pass_through_outside() {
        let item = quote! {
            /// About it.
            #[ignore]
            #[should_panic(expected = "deadlock")]
            pub fn hangs() {}
        };
        let text = expanded(quote!(), item);
        let outside = "#[doc=r\"Aboutit.\"]#[ignore]#[should_panic(expected=\"deadlock\")]#[::core::prelude::v1::test]pubfnhangs(){fnhangs(){}";
        assert!(text.starts_with(outside), "{text}");
    }

    #[test]
    fn errors_of_a_result_are_panics() {
        let text = expanded(
            quote!(),
            quote!(
                fn reads() -> io::Result<()> {
                    Ok(())
                }
            ),
        );
        assert!(text.contains("fnreads()->io::Result<()>{Ok(())}"), "{text}");
        assert!(text.contains("letresult:::core::result::Result<(),_>=reads();"), "{text}");
        for nothing in [quote!(()), quote!((())), quote!(!)] {
            let text = expanded(quote!(), quote!(fn f() -> #nothing { g() }));
            assert!(text.contains(".run(||{f();})"), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_test_is_refused() {
        let cases = [
            (
                quote!(
                    async fn f() {}
                ),
                "cannotbe`async`",
            ),
            (
                quote!(
                    const fn f() {}
                ),
                "cannotbe`const`",
            ),
            (
                quote!(
                    unsafe fn f() {}
                ),
                "cannotbe`unsafe`",
            ),
            (
                quote!(
                    extern "C" fn f() {}
                ),
                "cannotbe`extern`",
            ),
            (
                quote!(
                    fn f<T>() {}
                ),
                "cannotbegeneric",
            ),
            (
                quote!(
                    fn f(n: usize) {}
                ),
                "takenoarguments",
            ),
            (
                quote!(
                    #[test]
                    fn f() {}
                ),
                "removethisattribute",
            ),
            (
                quote!(
                    struct S;
                ),
                "goesonafunctionwithabody",
            ),
            (
                quote!(
                    fn f();
                ),
                "goesonafunctionwithabody",
            ),
        ];
        for (item, message) in cases {
            let text = expanded(quote!(), item);
            assert!(text.starts_with("::core::compile_error!{") && text.contains(message), "{text}");
            assert!(!text.contains("fnf"), "{text}");
        }
    }

    #[test]
    fn all_errors_are_told_at_once() {
        let text = expanded(
            quote!(sed = 7),
            quote!(
                async fn f(n: usize) {}
            ),
        );
        assert_eq!(text.matches("compile_error!").count(), 3, "{text}");
        assert!(text.contains("unknownoption`sed`"), "{text}");
    }
}
