//! The pictures of the README: a test of `tests/e2e` draws them, and this puts them where the README shows them.

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::packages::Packages;
use crate::workspace::Workspace;
use crate::{browser, page};
use std::fs;
use std::path::Path;

/// Where the README says its pictures are, from the root of the workspace.
const FOLDER: &str = "docs/images/";

/// Draws the pictures of the README anew. The page is built first; the hub is the one that `FANLIGHT_BIN` names, else the debug build,
/// which is made.
pub(crate) fn redraw(ws: &Workspace) -> CommandResult {
    browser::ensure()?;
    let packages = Packages::ensure(ws)?;
    page::build(ws)?;
    let hub = if let Some(named) = std::env::var_os("FANLIGHT_BIN") {
        named
    } else {
        crate::process::run(&mut ws.cargo("build --locked -p fanlight"))?;
        ws.debug_hub().into_os_string()
    };
    let mut tests = ws.cargo("test --locked -p tests --test e2e pictures::");
    crate::process::run(tests.envs(packages.told()).env("FANLIGHT_BIN", hub))?;
    let readme = ws.path("README.md");
    let text =
        fs::read_to_string(&readme).map_err(CommandFailure::io(format!("reading {}", readme.display())))?;
    put(&text, &ws.target().join("screenshots/readme"), &ws.path(FOLDER))
}

/// Copies each picture that the README `text` shows from the folder `drawn` to the folder `to`, over the one that is there. Fails at the first
/// that was not drawn.
fn put(text: &str, drawn: &Path, to: &Path) -> CommandResult {
    for name in shown(text) {
        let from = drawn.join(name);
        fs::copy(&from, to.join(name)).map_err(CommandFailure::io(format!("copying {}", from.display())))?;
        say(format!("{FOLDER}{name}"));
    }
    Ok(())
}

/// The names of the pictures that the README `text` shows, in its order.
fn shown(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split('(').filter_map(|rest| rest.strip_prefix(FOLDER)?.split(')').next());
    links.filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "png"))
}

#[cfg(test)]
mod tests {
    //! What is taken for a picture, and where it goes.

    use std::fs;

    #[test]
    fn each_picture_of_the_readme_is_put_where_it_is_shown_and_one_that_lacks_is_a_failure() {
        let root = std::env::temp_dir().join(format!("fanlight-pictures-{}", std::process::id()));
        let (drawn, shown) = (root.join("drawn"), root.join("shown"));
        fs::create_dir_all(&drawn).unwrap();
        fs::create_dir_all(&shown).unwrap();
        fs::write(drawn.join("a.png"), "new a").unwrap();
        fs::write(drawn.join("b.png"), "new b").unwrap();
        fs::write(drawn.join("unshown.png"), "new c").unwrap();
        fs::write(shown.join("a.png"), "old a").unwrap();
        super::put("![A](docs/images/a.png) ![B](docs/images/b.png)", &drawn, &shown).unwrap();
        assert_eq!(fs::read_to_string(shown.join("a.png")).unwrap(), "new a");
        assert_eq!(fs::read_to_string(shown.join("b.png")).unwrap(), "new b");
        assert!(!shown.join("unshown.png").exists());
        assert!(super::put("![C](docs/images/c.png)", &drawn, &shown).is_err());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn pictures_of_the_readme_are_found() {
        let text =
            "![A](docs/images/a.png) | ![B](docs/images/b-dark.png) [C](docs/c.md) (docs/images/d.svg)";
        assert_eq!(super::shown(text).collect::<Vec<_>>(), ["a.png", "b-dark.png"]);
    }
}
