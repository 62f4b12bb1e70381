//! The grammar of formulas.
//!
//! ```text
//! table  = row ("\\" | "&" row)*           one row with one cell is a row
//! row    = atom ("_" atom | "^" atom | "'")* …
//! atom   = letter | digits | sign | "{" table "}" | "\" command its arguments
//! ```

use super::symbols::{Symbol, accent, space, styled, symbol};
use super::{Attributes, DEPTH_MAX, MathNode};

/// The formula of `source`; `None` if it cannot be read.
pub(super) fn read(source: &str) -> Option<MathNode> {
    let mut reader = Reader { rest: source, depth: 0 };
    let node = reader.table(&[("class", "aligned")])?;
    reader.rest.is_empty().then_some(node)
}

/// Reads a formula from its beginning to its end.
struct Reader<'a> {
    /// What is not read yet.
    rest: &'a str,
    /// The number of groups that are open.
    depth: usize,
}

/// The place of an atom's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limits {
    /// Beside the atom, as `x_1`.
    Beside,
    /// Above and below the atom.
    AboveAndBelow,
}

impl<'a> Reader<'a> {
    /// Takes `mark` if the rest begins with it.
    fn takes(&mut self, mark: &str) -> bool {
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips spaces before the next atom.
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// The name of the command at the beginning, without taking it: letters, or one other character.
    fn command(&self) -> Option<&'a str> {
        let name = self.rest.strip_prefix('\\')?;
        let letters = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
        let len = if letters > 0 { letters } else { name.chars().next()?.len_utf8() };
        name.get(..len)
    }

    /// Takes the command `name`, which the rest begins with, and the spaces behind it.
    fn take_command(&mut self, name: &str) {
        self.rest = self.rest.get(name.len().saturating_add(1)..).unwrap_or_default();
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.skip_spaces();
        }
    }

    /// Whether the row ends here.
    fn is_end(&self) -> bool {
        self.rest.is_empty()
            || self.rest.starts_with(['}', '&'])
            || matches!(self.command(), Some("\\" | "right" | "end" | "cr"))
    }

    /// Rows and cells up to what ends them. One cell alone is what it is.
    fn table(&mut self, attributes: Attributes) -> Option<MathNode> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut rows = Vec::new();
        let mut cells = vec![self.row()?];
        loop {
            if self.takes("&") {
                cells.push(self.row()?);
            } else if let Some(name) = self.command().filter(|name| matches!(*name, "\\" | "cr")) {
                self.take_command(name);
                rows.push(std::mem::take(&mut cells));
                cells.push(self.row()?);
            } else {
                break;
            }
        }
        self.depth = self.depth.saturating_sub(1);
        if rows.is_empty() && cells.len() == 1 {
            return Some(MathNode::row(cells.pop().unwrap_or_default()));
        }
        // A last row without anything in it is the line break before the end.
        if cells.len() > 1 || cells.first().is_some_and(|cell| !cell.is_empty()) {
            rows.push(cells);
        }
        let cell = |nodes: Vec<MathNode>| MathNode::Element("mtd", &[], nodes);
        let row =
            |cells: Vec<Vec<MathNode>>| MathNode::Element("mtr", &[], cells.into_iter().map(cell).collect());
        Some(MathNode::Element("mtable", attributes, rows.into_iter().map(row).collect()))
    }

    /// Atoms with their scripts.
    fn row(&mut self) -> Option<Vec<MathNode>> {
        let mut nodes = Vec::new();
        loop {
            self.skip_spaces();
            if self.is_end() {
                return Some(nodes);
            }
            // A script without a base, as in `^\circ`.
            let has_base = !self.rest.starts_with(['_', '^', '\'']);
            let (base, limits) = if has_base {
                self.atom()?
            } else {
                (MathNode::Element("mrow", &[], Vec::new()), Limits::Beside)
            };
            nodes.push(self.scripts(base, limits)?);
        }
    }

    /// `base` with what stands above and below it.
    fn scripts(&mut self, base: MathNode, limits: Limits) -> Option<MathNode> {
        let (mut below, mut above) = (None, None);
        loop {
            self.skip_spaces();
            if matches!(self.command(), Some("limits" | "nolimits")) {
                let name = self.command().unwrap_or_default();
                self.take_command(name);
            } else if below.is_none() && self.takes("_") {
                below = Some(self.argument()?);
            } else if above.is_none() && self.takes("^") {
                above = Some(self.argument()?);
            } else if above.is_none() && self.rest.starts_with('\'') {
                let count = self.rest.chars().take_while(|c| *c == '\'').count();
                self.rest = self.rest.get(count..).unwrap_or_default();
                above = Some(MathNode::Leaf("mo", &[], "′".repeat(count)));
            } else {
                break;
            }
        }
        let is_around = limits == Limits::AboveAndBelow;
        let (name, children) = match (below, above) {
            (None, None) => return Some(base),
            (Some(below), None) => (if is_around { "munder" } else { "msub" }, vec![base, below]),
            (None, Some(above)) => (if is_around { "mover" } else { "msup" }, vec![base, above]),
            (Some(below), Some(above)) => {
                (if is_around { "munderover" } else { "msubsup" }, vec![base, below, above])
            }
        };
        Some(MathNode::Element(name, &[], children))
    }

    /// A group in braces, or one atom.
    fn argument(&mut self) -> Option<MathNode> {
        self.skip_spaces();
        if self.is_end() {
            return None;
        }
        // A number without braces is one digit: `x^23` is x² 3.
        if let Some(digit) = self.rest.chars().next().filter(char::is_ascii_digit) {
            self.rest = self.rest.get(1..)?;
            return Some(MathNode::Leaf("mn", &[], digit.to_string()));
        }
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEPTH_MAX {
            return None;
        }
        let (node, _) = self.atom()?;
        self.depth = self.depth.saturating_sub(1);
        Some(node)
    }

    /// Reads one atom, and where its limits stand.
    fn atom(&mut self) -> Option<(MathNode, Limits)> {
        if self.takes("{") {
            let node = self.table(&[])?;
            return self.takes("}").then_some((node, Limits::Beside));
        }
        if let Some(name) = self.command() {
            self.take_command(name);
            return self.of_command(name);
        }
        let first = self.rest.chars().next()?;
        if first.is_ascii_digit() {
            let is_number = |c: char| c.is_ascii_digit() || c == '.';
            let len = self.rest.find(|c| !is_number(c)).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at_checked(len)?;
            // A full stop behind a number ends a sentence.
            let number = if number.ends_with('.') { number.get(..len.saturating_sub(1))? } else { number };
            self.rest = self.rest.get(number.len()..).unwrap_or(rest);
            return Some((MathNode::Leaf("mn", &[], number.to_owned()), Limits::Beside));
        }
        self.rest = self.rest.get(first.len_utf8()..)?;
        let node = match first {
            '-' => leaf("mo", "−"),
            '*' => leaf("mo", "∗"),
            '~' => MathNode::Leaf("mspace", &[("width", "0.333em")], String::new()),
            c if c.is_alphabetic() => leaf("mi", &c.to_string()),
            '(' | ')' | '[' | ']' | '|' => MathNode::Leaf("mo", &[("stretchy", "false")], first.to_string()),
            c => leaf("mo", &c.to_string()),
        };
        Some((node, Limits::Beside))
    }

    /// The atom of a command that was taken.
    fn of_command(&mut self, name: &'a str) -> Option<(MathNode, Limits)> {
        let beside = |node| Some((node, Limits::Beside));
        match symbol(name) {
            Some(Symbol::Letter(letter)) => return beside(leaf("mi", letter)),
            Some(Symbol::Sign(sign)) => return beside(leaf("mo", sign)),
            Some(Symbol::Large(sign)) => return Some((leaf("mo", sign), Limits::AboveAndBelow)),
            Some(Symbol::Function) => return beside(leaf("mi", name)),
            Some(Symbol::Limits) => {
                let node =
                    MathNode::Leaf("mo", &[("movablelimits", "true"), ("lspace", "0")], name.to_owned());
                return Some((node, Limits::AboveAndBelow));
            }
            None => {}
        }
        if let Some((sign, is_below)) = accent(name) {
            let base = self.argument()?;
            let sign = MathNode::Leaf("mo", &[("stretchy", "true")], sign.to_owned());
            let element = if is_below { "munder" } else { "mover" };
            let node = MathNode::Element(element, &[("accent", "true")], vec![base, sign]);
            // What is said about a brace stands beyond it.
            let is_brace = name.ends_with("brace");
            return Some((node, if is_brace { Limits::AboveAndBelow } else { Limits::Beside }));
        }
        if let Some(width) = space(name) {
            return beside(MathNode::Leaf("mspace", width, String::new()));
        }
        beside(self.of_other(name)?)
    }

    /// The atom of a command with arguments, of a fence, or of one that is not known.
    fn of_other(&mut self, name: &'a str) -> Option<MathNode> {
        Some(match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                MathNode::Element("mfrac", &[], vec![self.argument()?, self.argument()?])
            }
            "binom" | "dbinom" | "tbinom" => {
                let parts = vec![self.argument()?, self.argument()?];
                let parts = MathNode::Element("mfrac", &[("linethickness", "0")], parts);
                MathNode::Element("mrow", &[], vec![leaf("mo", "("), parts, leaf("mo", ")")])
            }
            "sqrt" => self.root()?,
            "text" | "textrm" | "textbf" | "textit" | "texttt" | "textsf" | "mbox" | "tag" => {
                // Spaces at the ends of an element would be dropped.
                leaf("mtext", &self.raw_group()?.replace(' ', "\u{a0}"))
            }
            "mathrm" | "operatorname" | "mathsf" | "mathtt" | "mathit" | "mathbb" | "mathcal" | "mathscr"
            | "mathfrak" | "mathbf" | "boldsymbol" | "bm" => self.styled_group(name)?,
            "left" => self.fenced()?,
            "begin" => self.environment()?,
            "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr" | "biggl" | "biggr"
            | "Biggl" | "Biggr" | "middle" => MathNode::row(self.delimiter()?),
            "displaystyle" | "textstyle" | "limits" | "nolimits" | "nonumber" | "notag" => {
                MathNode::Element("mrow", &[], Vec::new())
            }
            "not" => match self.argument()? {
                MathNode::Leaf(element, attributes, text) => {
                    MathNode::Leaf(element, attributes, text + "\u{338}")
                }
                other @ MathNode::Element(..) => other,
            },
            "pmod" => {
                let of = self.argument()?;
                MathNode::Element("mrow", &[], vec![leaf("mo", "("), leaf("mi", "mod"), of, leaf("mo", ")")])
            }
            "bmod" | "mod" => leaf("mo", "mod"),
            "{" | "}" | "%" | "$" | "#" | "_" | "&" => leaf("mo", name),
            "|" => leaf("mo", "‖"),
            _ => leaf("mtext", &format!("\\{name}")),
        })
    }

    /// A root; its degree stands in brackets.
    fn root(&mut self) -> Option<MathNode> {
        self.skip_spaces();
        if !self.takes("[") {
            return Some(MathNode::Element("msqrt", &[], vec![self.argument()?]));
        }
        let (degree, rest) = self.rest.split_once(']')?;
        self.rest = rest;
        let mut inside = Reader { rest: degree, depth: self.depth.saturating_add(1) };
        let degree = inside.table(&[])?;
        if !inside.rest.is_empty() {
            return None;
        }
        Some(MathNode::Element("mroot", &[], vec![self.argument()?, degree]))
    }

    /// The text of a group in braces, as written; braces within it must match.
    fn raw_group(&mut self) -> Option<&'a str> {
        self.skip_spaces();
        let inside = self.rest.strip_prefix('{')?;
        let mut depth = 0_usize;
        let end = inside.char_indices().find_map(|(at, c)| match c {
            '{' => {
                depth = depth.saturating_add(1);
                None
            }
            '}' if depth == 0 => Some(at),
            '}' => {
                depth = depth.saturating_sub(1);
                None
            }
            _ => None,
        })?;
        self.rest = inside.get(end.saturating_add(1)..)?;
        inside.get(..end)
    }

    /// A group in another alphabet. One with more than letters and digits keeps its own.
    fn styled_group(&mut self, name: &str) -> Option<MathNode> {
        self.skip_spaces();
        let before = self.rest;
        if self.rest.starts_with('{') {
            let text = self.raw_group()?.trim();
            let is_word = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '*' | '.');
            if !text.is_empty() && text.chars().all(is_word) {
                let text: String = text.chars().map(|c| styled(name, c)).collect();
                return Some(MathNode::Leaf("mi", &[("mathvariant", "normal")], text));
            }
            self.rest = before;
        }
        match self.argument()? {
            MathNode::Leaf(element, attributes, text) => {
                Some(MathNode::Leaf(element, attributes, text.chars().map(|c| styled(name, c)).collect()))
            }
            other @ MathNode::Element(..) => Some(other),
        }
    }

    /// The delimiter behind `\left` and the like; nothing for the full stop, which stands for none. Fails at
    /// the end of the formula.
    fn delimiter(&mut self) -> Option<Vec<MathNode>> {
        self.skip_spaces();
        if self.takes(".") {
            return Some(Vec::new());
        }
        let sign = if let Some(name) = self.command() {
            self.take_command(name);
            match symbol(name) {
                Some(Symbol::Sign(sign) | Symbol::Letter(sign)) => sign,
                _ if name == "|" => "‖",
                _ => name,
            }
        } else {
            let first = self.rest.chars().next()?;
            let (sign, rest) = self.rest.split_at_checked(first.len_utf8())?;
            self.rest = rest;
            match sign {
                "<" => "⟨",
                ">" => "⟩",
                sign => sign,
            }
        };
        Some(vec![MathNode::Leaf("mo", &[("stretchy", "true"), ("fence", "true")], sign.to_owned())])
    }

    /// What stands between `\left` and `\right`, with both delimiters.
    fn fenced(&mut self) -> Option<MathNode> {
        let open = self.delimiter()?;
        let inside = self.table(&[])?;
        self.command().filter(|name| *name == "right")?;
        self.take_command("right");
        let close = self.delimiter()?;
        let nodes = open.into_iter().chain([inside]).chain(close).collect();
        Some(MathNode::Element("mrow", &[], nodes))
    }

    /// A matrix, cases or aligned lines, behind `\begin`.
    fn environment(&mut self) -> Option<MathNode> {
        let name = self.raw_group()?;
        if matches!(name, "array" | "alignat" | "alignat*") {
            // The columns.
            self.raw_group()?;
        }
        let (attributes, open, close): (Attributes, _, _) = match name.trim_end_matches('*') {
            "matrix" | "smallmatrix" | "array" => (&[], "", ""),
            "pmatrix" => (&[], "(", ")"),
            "bmatrix" => (&[], "[", "]"),
            "Bmatrix" => (&[], "{", "}"),
            "vmatrix" => (&[], "|", "|"),
            "Vmatrix" => (&[], "‖", "‖"),
            "cases" => (&[("class", "cases")], "{", ""),
            "aligned" | "align" | "alignat" | "split" | "eqnarray" => (&[("class", "aligned")], "", ""),
            "gathered" | "gather" | "equation" | "multline" => (&[], "", ""),
            _ => return None,
        };
        let table = self.table(attributes)?;
        self.command().filter(|name| *name == "end")?;
        self.take_command("end");
        if self.raw_group()? != name {
            return None;
        }
        let fence = |sign: &str| {
            let attributes: Attributes = &[("stretchy", "true"), ("fence", "true")];
            (!sign.is_empty()).then(|| MathNode::Leaf("mo", attributes, sign.to_owned()))
        };
        let nodes = fence(open).into_iter().chain([table]).chain(fence(close)).collect();
        Some(MathNode::row(nodes))
    }
}

/// A leaf without attributes.
fn leaf(element: &'static str, text: &str) -> MathNode {
    MathNode::Leaf(element, &[], text.to_owned())
}
