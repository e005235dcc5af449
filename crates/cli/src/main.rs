//! The `hostwarp` command: runs, checks and explains PTX.
//!
//! One file per command in `commands/`; what they share lies beside this file. A command returns what it has to say and a
//! [`Failure`] if it did not work out; only this file prints errors and exits.
#![forbid(unsafe_code)]

mod cache;
mod commands;
mod failure;
mod half;
#[cfg(debug_assertions)]
mod inject;
mod input;
mod limits;
mod npy;
mod number;
mod output;
mod progress;
mod show;
mod value;
mod watch;

use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use commands::Command;
use failure::{Exit, Failure};
use limits::LimitArgs;
use std::panic;
use std::sync::Once;

const EXIT_CODES: &str = "\
Exit codes:
  0   it worked
  1   the input is wrong: the PTX, a file, or `fmt --check` or `conformance replay` found something;
      or what was asked for cannot be written
  2   the command line is wrong
  3   the launch is wrong: arguments, sizes, memory
  4   the kernel faulted: a bad address, a deadlock, a trap, a limit
  5   PTX that Hostwarp does not do yet
  70  a bug in Hostwarp

`hostwarp help COMMAND` has examples.";

/// Run NVIDIA PTX on any CPU with the bits a GPU would give.
#[derive(Parser, Debug)]
#[command(name = "hostwarp", version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    /// Colours in the output; auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Everywhere")]
    color: Colour,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum Colour {
    Auto,
    Always,
    Never,
}

fn main() {
    report_panics();
    #[cfg(debug_assertions)]
    if let Err(e) = inject::begin() {
        output::complain(&e);
        std::process::exit(Exit::Usage as i32);
    }
    let exit = match panic::catch_unwind(run) {
        Ok(code) => code,
        Err(_) => Exit::Bug as i32,
    };
    #[cfg(debug_assertions)]
    inject::end();
    limits::exit(exit);
}

fn run() -> i32 {
    let mut command = Cli::command();
    if let Some(choice) = colour_on_command_line() {
        command = command.color(choice);
    }
    let cli = match command.try_get_matches().and_then(|m| Cli::from_arg_matches(&m)) {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors, unless nobody can read them.
            return match output::print_usage(&e) {
                Ok(()) => e.exit_code(),
                Err(e) => complain_of_stdout(&e),
            };
        }
    };
    match cli.color {
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
    // What `exec` runs begins as any program does, and is nothing of ours that could be stopped.
    match cli.command {
        Command::Exec(_) if cli.limits.given() => {
            output::complain("--timeout and --memory do not hold for the program: `timeout` and `ulimit` do");
            return Exit::Usage as i32;
        }
        Command::Exec(_) => {}
        _ => hostwarp_system::exit::not_for_large_files(),
    }
    let json = cli.command.json();
    let limits = cli.limits.begin();
    let done = limits.within(|| cli.command.run());
    match done.unwrap_or_else(|e| Err(limits::exceeded(e, None))) {
        Ok(()) => 0,
        Err(Failure::Quiet(exit)) => exit as i32,
        Err(Failure::Stdout(e)) => complain_of_stdout(&e),
        Err(Failure::Said { exit, text, rendered }) => {
            if json {
                let value = serde_json::json!({ "error": { "kind": exit.name(), "message": text } });
                if let Err(e) = output::print(&format!("{value:#}\n")) {
                    output::complain(&text);
                    complain_of_stdout(&e);
                }
            } else if rendered {
                output::complain_raw(&text);
            } else {
                output::complain(&text);
            }
            exit as i32
        }
    }
}

/// Nobody must think that all is well who has not got all of the output.
fn complain_of_stdout(e: &std::io::Error) -> i32 {
    output::complain(&format!("cannot write to stdout: {e}"));
    Exit::Input as i32
}

/// Help is printed while the command line is read: its colour has to be known before.
fn colour_on_command_line() -> Option<clap::ColorChoice> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let value = arguments.iter().enumerate().find_map(|(i, a)| match a.to_str()? {
        "--color" => arguments.get(i + 1)?.to_str(),
        a => a.strip_prefix("--color="),
    })?;
    clap::ColorChoice::from_str(value, true).ok()
}

/// A panic is our fault, never the user's, and says so. Only the first is shown: others follow from it.
fn report_panics() {
    static FIRST: Once = Once::new();
    panic::set_hook(Box::new(|info| {
        FIRST.call_once(|| {
            let what = info.payload_as_str().unwrap_or("no message");
            let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
            output::complain(&format!(
                "this is a bug in Hostwarp, not in your kernel\n  {what}{place}\n  hostwarp {} on {}-{}\n\
                 Please report it with the command and the files it used.",
                env!("CARGO_PKG_VERSION"),
                std::env::consts::ARCH,
                std::env::consts::OS,
            ));
        });
    }));
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        super::Cli::command().debug_assert();
    }
}
