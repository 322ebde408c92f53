//! `reweave completions` and `reweave man`: from the same definitions as `--help`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use reweave_launch::{Error, exit};

use crate::output;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave completions bash > ~/.local/share/bash-completion/completions/reweave\n  \
    reweave completions fish > ~/.config/fish/completions/reweave.fish\n  \
    reweave completions zsh > ~/.zfunc/_reweave")]
pub struct Completions {
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reweave man | man -l -\n  reweave man -o ~/.local/share/man/man1")]
pub struct Man {
    /// Write reweave.1, reweave-test.1 and so on into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn completions(args: &Completions, mut definition: clap::Command) -> i32 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition, "reweave", &mut script);
    output::print(|out| out.write_all(&script))
}

pub fn man(args: &Man, definition: clap::Command) -> i32 {
    let Some(folder) = &args.output else {
        return output::print(|out| clap_mangen::Man::new(definition).render(out));
    };
    match write_pages(folder, definition) {
        Ok(pages) => {
            eprintln!("reweave: wrote {pages} pages to {}", folder.display());
            exit::CLEAN
        }
        Err(error) => output::fail(&error),
    }
}

fn write_pages(folder: &Path, mut definition: clap::Command) -> Result<usize, Error> {
    fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
    definition.build();
    let subcommands = definition.get_subcommands().filter(|one| one.get_name() != "help").cloned();
    let mut pages: Vec<(String, clap::Command)> =
        subcommands.map(|one| (format!("reweave-{}", one.get_name()), one)).collect();
    pages.push(("reweave".into(), definition));
    for (name, page) in &pages {
        let path = folder.join(format!("{name}.1"));
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = clap_mangen::Man::new(page.clone()).title(name.clone()).render(&mut text);
        fs::File::create(&path).and_then(|mut file| file.write_all(&text)).map_err(Error::output("write", &path))?;
    }
    Ok(pages.len())
}
