//! Texts in the settings with placeholders that the environment fills.

/// A text in which `${NAME}` stands for the value of that environment variable, and `${NAME:-other}` for
/// `other` if the variable is empty or not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled(Vec<TemplatePart>);

/// A piece of such a text. Made once, when the settings are read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    /// Taken as it is.
    Text(String),
    /// The value of the variable `name`, trimmed; `otherwise` if it is empty or not set.
    Variable { name: String, otherwise: Option<String> },
}

impl Filled {
    /// Parses a text. The error says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, more)) = rest.split_once("${") {
            let (place, behind) = more.split_once('}').ok_or_else(|| String::from("has ${ without }"))?;
            let (name, otherwise) = match place.split_once(":-") {
                Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
                None => (place, None),
            };
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!("has ${{{place}}}, which is not the name of a variable"));
            }
            let variable = TemplatePart::Variable { name: name.to_owned(), otherwise };
            pieces.extend([TemplatePart::Text(before.to_owned()), variable]);
            rest = behind;
        }
        pieces.push(TemplatePart::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Takes `text` as it is, without placeholders.
    pub(crate) fn literal(text: &str) -> Self {
        Self(vec![TemplatePart::Text(text.to_owned())])
    }

    /// The parts that do not depend on the environment, defaults included.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|piece| match piece {
            TemplatePart::Text(text) => text.as_str(),
            TemplatePart::Variable { otherwise, .. } => otherwise.as_deref().unwrap_or_default(),
        })
    }

    /// Fills the text from the present environment. The error names a variable that is not set.
    pub(crate) fn filled(&self) -> Result<String, String> {
        let mut whole = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePart::Text(text) => whole.push_str(text),
                TemplatePart::Variable { name, otherwise } => {
                    let found = std::env::var(name).ok().filter(|found| !found.is_empty());
                    let found = found.or_else(|| otherwise.clone());
                    let found = found.ok_or_else(|| format!("the environment variable {name} is not set"))?;
                    whole.push_str(found.trim());
                }
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests;
