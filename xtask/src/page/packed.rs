//! The files of the page as they travel: beside each stands its brotli and its gzip form, made once and as small as they
//! get, so that the hub compresses nothing. And how much that is: a page that grows past its budget does not build.
//!
//! A form that is not smaller than the file is left out. Packing at the best quality takes long, so results
//! are kept below `target/page-packed` by the hash of what was packed. What is kept is used only if it unpacks to what was packed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{files, html, read, write};
use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::workspace::Workspace;

/// Most bytes of WebAssembly and scripts that a browser fetches before it shows the list, brotli: 350 KiB. On a phone's slow network
/// (1.6 Mbit/s) these are 1.8 seconds.
const PAGE_BYTES_MAX: usize = 350 << 10;

/// Most bytes of each module that the page fetches when it is first needed, brotli.
const MODULE_BYTES_MAX: [(&str, usize); 11] = [
    ("common", 28 << 10),
    ("conversation", 256 << 10),
    ("snapshots", 4 << 10),
    ("kinds", 36 << 10),
    ("formulas", 28 << 10),
    ("panel", 72 << 10),
    ("dialogs", 42 << 10),
    ("timeline", 64 << 10),
    ("wall", 34 << 10),
    ("replay", 12 << 10),
    ("compare", 24 << 10),
];

/// Most bytes of WebAssembly and scripts of the operator's pages, brotli: 300 KiB, half of the first picture's.
const OVERVIEW_BYTES_MAX: usize = 300 << 10;

/// What is worth compressing.
const TEXTS: [&str; 5] = ["wasm", "js", "css", "html", "svg"];

/// Packs each file of `folder` and holds the page to its budget. Fails if a part is over its budget, or a
/// module has none.
pub(super) fn pack(ws: &Workspace, folder: &Path) -> CommandResult {
    let kept = kept_folder(ws)?;
    let mut sizes = Vec::new();
    for file in files(folder)? {
        let path = file.to_string_lossy().into_owned();
        let plain = read(&folder.join(&file))?;
        if !TEXTS.iter().any(|end| path.ends_with(&format!(".{end}"))) {
            continue;
        }
        let name = html::hash(&plain);
        let brotli = BROTLI.kept_or_made(&kept.join(format!("{name}.br")), &plain)?;
        let gzip = GZIP.kept_or_made(&kept.join(format!("{name}.gz")), &plain)?;
        for (end, packed) in [("br", &brotli), ("gz", &gzip)] {
            if packed.len() < plain.len() {
                write(&folder.join(format!("{path}.{end}")), packed)?;
            }
        }
        sizes.push(PackedSize { path, plain: plain.len(), brotli: brotli.len(), gzip: gzip.len() });
    }
    weigh(&sizes)
}

/// `plain` packed with gzip, for a file that is shipped in no other form.
pub(super) fn gzipped(ws: &Workspace, plain: &[u8]) -> CommandResult<Vec<u8>> {
    let kept = kept_folder(ws)?;
    GZIP.kept_or_made(&kept.join(format!("{}.gz", html::hash(plain))), plain)
}

/// The folder of what was packed before. It is made where it is missing.
fn kept_folder(ws: &Workspace) -> CommandResult<PathBuf> {
    let kept = ws.target().join("page-packed");
    fs::create_dir_all(&kept).map_err(CommandFailure::io(format!("creating {}", kept.display())))?;
    Ok(kept)
}

/// A file of the page, in bytes.
struct PackedSize {
    /// The path of the file in the folder.
    path: String,
    /// The size of the file as it is.
    plain: usize,
    /// The size when packed with brotli, by which budgets are measured.
    brotli: usize,
    /// The size when packed with gzip.
    gzip: usize,
}

impl PackedSize {
    /// Whether it is WebAssembly or a script whose name begins like this.
    fn is_program(&self, begin: &str) -> bool {
        let ends = [".wasm", ".js"].iter().any(|end| self.path.ends_with(end));
        ends && self.path.starts_with(begin)
    }
}

/// Says how large everything is, and refuses what is too large.
fn weigh(sizes: &[PackedSize]) -> CommandResult {
    for PackedSize { path, plain, brotli, gzip } in sizes.iter().filter(|size| size.plain > 10_000) {
        say(format!("{path}: {plain} bytes, gzip {gzip}, brotli {brotli}"));
    }
    let of = |begin: &str| -> usize {
        sizes.iter().filter(|size| size.is_program(begin)).map(|size| size.brotli).sum()
    };
    // Scripts that start a program are counted with the first picture, whosever they are: they are 100 bytes.
    let first = of("") - of("decoder-") - of("overview-") - of("module-");
    check_size("the page", "WebAssembly and scripts of the first list", first, PAGE_BYTES_MAX)?;
    for (module, most) in MODULE_BYTES_MAX {
        check_size(module, &format!("the module {module}"), of(&format!("module-{module}-")), most)?;
    }
    let budgeted: usize = MODULE_BYTES_MAX.iter().map(|(module, _)| of(&format!("module-{module}-"))).sum();
    if budgeted != of("module-") {
        return Err(CommandFailure::new("a module of the page has no budget")
            .mend("give it one in MODULE_BYTES_MAX (xtask/src/page/packed.rs)"));
    }
    check_size(
        "overview",
        "WebAssembly and scripts of the operator's pages",
        of("overview-"),
        OVERVIEW_BYTES_MAX,
    )
}

/// Says how large a program is, and refuses it where it is too large.
fn check_size(name: &str, what: &str, bytes: usize, most: usize) -> CommandResult {
    say(format!("{what}: {bytes} bytes of {most}, brotli"));
    if bytes > most {
        let over = bytes - most;
        return Err(CommandFailure::new(format!("{name} is {over} bytes over its budget of {most}")).mend(
            "move what few readers need into a module of its own, as `decoder` is; or make it smaller",
        ));
    }
    Ok(())
}

/// A form in which files travel.
struct PackedForm {
    /// The function that packs.
    pack: fn(&[u8]) -> std::io::Result<Vec<u8>>,
    /// The function that unpacks.
    unpack: fn(&[u8]) -> std::io::Result<Vec<u8>>,
}

const BROTLI: PackedForm = PackedForm { pack: brotli, unpack: unbrotli };

const GZIP: PackedForm = PackedForm { pack: gzip, unpack: gunzip };

impl PackedForm {
    /// `plain` in this form, kept from an earlier build where there was one. A file that does not unpack to `plain`, such as one that a
    /// full disk cut off, is made again. It is written under another name first, so that a build that is stopped leaves no half of it.
    fn kept_or_made(&self, kept: &Path, plain: &[u8]) -> CommandResult<Vec<u8>> {
        if let Ok(bytes) = fs::read(kept)
            && (self.unpack)(&bytes).is_ok_and(|unpacked| unpacked == plain)
        {
            return Ok(bytes);
        }
        let bytes =
            (self.pack)(plain).map_err(CommandFailure::io(format!("packing for {}", kept.display())))?;
        let mut partial = kept.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        write(&partial, &bytes)?;
        fs::rename(&partial, kept).map_err(CommandFailure::io(format!("renaming {}", partial.display())))?;
        Ok(bytes)
    }
}

/// The best quality, and the largest window that browsers take.
fn brotli(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 24,
        size_hint: plain.len(),
        ..Default::default()
    };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &*plain, &mut packed, &params)?;
    Ok(packed)
}

/// Unpacks what [`brotli()`] packed.
fn unbrotli(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    brotli::BrotliDecompress(&mut &*packed, &mut plain)?;
    Ok(plain)
}

/// The best compression that gzip has.
fn gzip(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(plain)?;
    packer.finish()
}

/// Unpacks what [`gzip`] packed.
fn gunzip(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests;
