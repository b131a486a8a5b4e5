//! `ordain completions`: what a shell needs to complete the words of this command, made from its command line.

use crate::outcome::Outcome;
use crate::output;
use crate::problem::Problem;
use clap::{Arg, ArgAction, Command, ValueHint};
use std::fmt::Write as _;

#[derive(clap::Args)]
#[command(after_help = "bash: ordain completions bash > ~/.local/share/bash-completion/completions/ordain\n\
                        zsh:  ordain completions zsh > _ordain, in a directory of $fpath\n\
                        fish: ordain completions fish > ~/.config/fish/completions/ordain.fish")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Problem> {
    let command = crate::command();
    output::show(&match arguments.shell {
        Shell::Bash => bash(&command),
        Shell::Zsh => zsh(&command),
        Shell::Fish => fish(&command),
    })?;
    Ok(Outcome::Clean)
}

/// The commands that a reader may type.
fn commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// The options that a reader may type.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional())
}

/// The words for an argument, if it takes one of some.
fn values(arg: &Arg) -> Vec<String> {
    let takes = arg.get_action().takes_values() || arg.is_positional();
    let values = if takes { arg.get_possible_values() } else { Vec::new() };
    values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name().to_owned()).collect()
}

/// All ways to write an option.
fn names(arg: &Arg) -> Vec<String> {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    long.into_iter().chain(short).collect()
}

/// The words that may stand directly behind a command: its own commands, or values of what it takes.
fn words(command: &Command) -> Vec<String> {
    let own = commands(command).map(|command| command.get_name().to_owned());
    own.chain(command.get_positionals().flat_map(values)).collect()
}

fn bash(command: &Command) -> String {
    let mut cases = String::new();
    let mut after = String::new();
    for sub in commands(command) {
        let all: Vec<String> = options(sub).flat_map(names).chain(words(sub)).collect();
        let _ = writeln!(cases, "        {}) words='{}' ;;", sub.get_name(), all.join(" "));
        for arg in options(sub).filter(|arg| !values(arg).is_empty()) {
            for name in names(arg) {
                let _ = writeln!(after, "        {}:{name}) words='{}' ;;", sub.get_name(), values(arg).join(" "));
            }
        }
    }
    let all: Vec<&str> = commands(command).map(Command::get_name).collect();
    format!(
        "# Completion of ordain for bash.\n\
         _ordain() {{\n    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=\n    \
         if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n        return\n    fi\n    \
         case \"$command:$previous\" in\n{after}    esac\n    \
         if [ -z \"$words\" ]; then\n        case \"$command\" in\n{cases}        esac\n        \
         case \"$current\" in -*) ;; *) COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\")); return ;; esac\n    fi\n    \
         COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}}\n\
         complete -o filenames -F _ordain ordain\n",
        all.join(" ")
    )
}

/// Text in quotes of a shell, on one line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\n', " ").replace('\'', "'\\''"))
}

fn about(command: &Command) -> String {
    command.get_about().map_or_else(String::new, ToString::to_string)
}

fn help(arg: &Arg) -> String {
    arg.get_help().map_or_else(String::new, ToString::to_string)
}

fn zsh(command: &Command) -> String {
    let plain = |text: &str| text.replace([':', '[', ']'], " ");
    let mut all = String::new();
    let mut cases = String::new();
    for sub in commands(command) {
        let _ = writeln!(all, "        {}", quoted(&format!("{}:{}", sub.get_name(), plain(&about(sub)))));
        let _ = writeln!(cases, "    {})\n      _arguments -s \\", sub.get_name());
        for arg in options(sub) {
            let value = match (arg.get_action(), &values(arg)[..]) {
                (ArgAction::Set | ArgAction::Append, []) => ":value:_files".to_owned(),
                (ArgAction::Set | ArgAction::Append, values) => format!(":value:({})", values.join(" ")),
                _ => String::new(),
            };
            let repeats = if matches!(arg.get_action(), ArgAction::Append) { "*" } else { "" };
            for name in names(arg) {
                let _ =
                    writeln!(cases, "        {} \\", quoted(&format!("{repeats}{name}[{}]{value}", plain(&help(arg)))));
            }
        }
        let rest = words(sub);
        let rest = if rest.is_empty() { "_files".to_owned() } else { format!("({})", rest.join(" ")) };
        let _ = writeln!(cases, "        {} && return\n      ;;", quoted(&format!("*:word:{rest}")));
    }
    format!(
        "#compdef ordain\n# Completion of ordain for zsh.\n_ordain() {{\n  local -a commands\n  commands=(\n{all}  )\n  \
         if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  \
         local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n{cases}  esac\n}}\n\
         if [ \"$funcstack[1]\" = _ordain ]; then _ordain \"$@\"; else compdef _ordain ordain; fi\n"
    )
}

fn fish(command: &Command) -> String {
    let mut text = String::from("# Completion of ordain for fish.\n");
    for sub in commands(command) {
        let name = sub.get_name();
        let _ = writeln!(text, "complete -c ordain -n __fish_use_subcommand -f -a {name} -d {}", quoted(&about(sub)));
        let within = format!("complete -c ordain -n '__fish_seen_subcommand_from {name}'");
        for arg in options(sub) {
            let _ = write!(text, "{within}");
            if let Some(long) = arg.get_long() {
                let _ = write!(text, " -l {long}");
            }
            if let Some(short) = arg.get_short() {
                let _ = write!(text, " -s {short}");
            }
            match (arg.get_action().takes_values(), &values(arg)[..]) {
                (true, []) => {
                    let is_file = matches!(arg.get_value_hint(), ValueHint::Unknown | ValueHint::FilePath);
                    text.push_str(if is_file { " -r" } else { " -x" });
                }
                (true, values) => {
                    let _ = write!(text, " -x -a {}", quoted(&values.join(" ")));
                }
                (false, _) => {}
            }
            let _ = writeln!(text, " -d {}", quoted(&help(arg)));
        }
        let words = words(sub);
        if !words.is_empty() {
            let _ = writeln!(text, "{within} -f -a {}", quoted(&words.join(" ")));
        }
    }
    text
}
