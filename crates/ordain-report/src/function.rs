//! Names of functions in as few characters as people need. Those of C++ templates can fill a screen.

/// Names up to this length are shown whole.
const MOST: usize = 60;

/// The name of a function; if it is long, without what stands in the brackets of its templates and parameters.
pub fn short_function(name: &str) -> String {
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    // In these words a bracket is part of the name.
    const WHOLE: [&str; 9] = [
        "operator()",
        "operator<<=",
        "operator<=>",
        "operator<<",
        "operator<=",
        "operator<",
        "operator>>",
        "operator->",
        "operator>",
    ];
    const NAMELESS: &str = "(anonymous namespace)";
    let mut short = String::new();
    let mut open: Vec<char> = Vec::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(whole) = WHOLE.iter().chain([&NAMELESS]).find(|whole| rest.starts_with(**whole)) {
            if open.is_empty() {
                short += whole;
            }
            rest = &rest[whole.len()..];
            continue;
        }
        match c {
            '<' | '(' => {
                if open.is_empty() {
                    short.push(c);
                }
                open.push(if c == '<' { '>' } else { ')' });
            }
            _ if open.last() == Some(&c) => {
                open.pop();
                if open.is_empty() {
                    let empty = name[..name.len() - rest.len()].ends_with(['<', '(']);
                    short += if empty { "" } else { "..." };
                    short.push(c);
                }
            }
            _ if open.is_empty() => short.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    if open.is_empty() { short } else { name.chars().take(MOST).chain("...".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_what_is_in_brackets() {
        for (long, short) in [
            ("take()", "take()"),
            (
                "std::thread::_M_start_thread(std::unique_ptr<std::thread::_State, std::default_delete<std::thread::_State> >, void (*)())",
                "std::thread::_M_start_thread(...)",
            ),
            (
                "std::__future_base::_Task_setter<std::unique_ptr<std::__future_base::_Result<int> >, int>::operator()() const",
                "std::__future_base::_Task_setter<...>::operator()() const",
            ),
            (
                "(anonymous namespace)::a_function_with_a_long_name(std::vector<std::string, std::allocator<std::string> > const&)",
                "(anonymous namespace)::a_function_with_a_long_name(...)",
            ),
            (
                "std::ostream& operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
                "std::ostream& operator<< <...>(...)",
            ),
            (
                "core::ops::function::FnOnce::call_once{{vtable.shim}}_with_a_name_that_goes_on_and_on",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}_with_a_name_that_goes_on_and_on",
            ),
            (
                "a_function_whose_brackets_do_not_match_because_it_was_cut<somewhere_in_the_middle",
                "a_function_whose_brackets_do_not_match_because_it_was_cut<so...",
            ),
        ] {
            assert_eq!(short_function(long), short);
        }
    }
}
