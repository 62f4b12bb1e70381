//! `--dialect`: one that this program reads, or a file that describes one.

use std::str::FromStr;

use dialects::custom::UserDialect;
use dialects::{Decode, DecodeOptions, decoder};
use model::dialect::DECODED;

/// What a stream is written in.
#[derive(Debug, Clone)]
pub(crate) struct StreamDialect {
    name: String,
    /// The description of a dialect that only its user knows.
    own: Option<UserDialect>,
}

impl StreamDialect {
    /// The name of the dialect, as given on the command line.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A decoder for one stream. Nothing for a name that no dialect has, which no [`StreamDialect`] has.
    pub(crate) fn decoder(&self, options: DecodeOptions) -> Option<Box<dyn Decode>> {
        match &self.own {
            Some(own) => Some(own.decoder(options)),
            None => decoder(&self.name, options),
        }
    }
}

impl FromStr for StreamDialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if DECODED.contains(&text) {
            return Ok(Self { name: text.to_owned(), own: None });
        }
        if !is_file_name(text) {
            let known = DECODED.join(", ");
            return Err(format!(
                "no such dialect; there are {known}, and files that describe one (FILE.yaml)"
            ));
        }
        let own = described(std::path::Path::new(text))?;
        Ok(Self { name: own.name().to_owned(), own: Some(own) })
    }
}

fn is_file_name(text: &str) -> bool {
    let path = std::path::Path::new(text);
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

/// The dialect that the file at `path` describes.
pub(crate) fn described(path: &std::path::Path) -> Result<UserDialect, String> {
    let shown = path.display();
    let yaml = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    UserDialect::parse(&yaml).map_err(|error| format!("{shown}: {error}"))
}
