//! Writes the error index: `cargo run -p hostwarp-compile --example error_index -- docs/errors`.

use hostwarp_compile::error_index;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let Some(dir) = std::env::args().nth(1) else {
        eprintln!("where to?");
        return Ok(());
    };
    std::fs::create_dir_all(&dir)?;
    for (name, text) in error_index() {
        std::fs::write(Path::new(&dir).join(name), text)?;
    }
    Ok(())
}
