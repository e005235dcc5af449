//! `hostwarp completions`: what a shell needs to complete command lines.

use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;

/// Print the completion script of a shell.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp completions bash > ~/.local/share/bash-completion/completions/hostwarp
  hostwarp completions zsh > ~/.zfunc/_hostwarp
  hostwarp completions fish > ~/.config/fish/completions/hostwarp.fish")]
pub struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

impl Completions {
    pub fn run(self) -> Result<(), Failure> {
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "hostwarp", &mut script);
        Ok(output::print_bytes(&script)?)
    }
}
