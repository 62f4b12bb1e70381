//! A Rust file taken apart: what is code, what is comment, what is a string.
//!
//! This is a scanner, not a parser: it knows strings, raw strings, characters, lifetimes and nested comments, which is
//! what it takes to tell a word in code from the same word in prose.

/// One Rust file, taken apart.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Path from the root of the tree, with `/`.
    pub(crate) path: String,
    /// The text as it is.
    pub(crate) raw: String,
    /// The lines, taken apart.
    pub(crate) lines: Vec<SourceLine>,
}

/// One line, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceLine {
    /// Code, with the insides of strings and comments left out.
    pub(crate) code: String,
    /// The text of comments.
    pub(crate) comment: String,
    /// String literals that start on this line.
    pub(crate) strings: Vec<String>,
}

impl SourceFile {
    /// Takes a file apart. Never fails: what is no Rust is read as code.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let raw = text.into();
        let lines = SourceScanner::new(&raw).scan();
        Self { path: path.into(), raw, lines }
    }

    /// True for tests and benches: they may do what the product may not.
    pub(crate) fn is_test(&self) -> bool {
        let mut names = self.path.split('/');
        let file = names.next_back().unwrap_or_default();
        file == "tests.rs"
            || file.ends_with("_tests.rs")
            || names.any(|name| name == "tests" || name == "benches")
    }

    /// The lines with their numbers, from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &SourceLine)> {
        (1..).zip(&self.lines)
    }
}

/// True when `code` holds `word` and not merely a longer name around it. A word that begins or ends with
/// another sign than a letter, such as `fs::`, may touch anything there.
pub(crate) fn names(code: &str, word: &str) -> bool {
    let part_of_name = |c: char| c == '_' || c.is_alphanumeric();
    let mut before: Option<char> = None;
    let mut rest = code;
    while let Some((head, tail)) = rest.split_once(word) {
        let left = head.chars().next_back().or(before);
        let right = tail.chars().next();
        let starts = word.starts_with(part_of_name) && left.is_some_and(part_of_name);
        let ends = word.ends_with(part_of_name) && right.is_some_and(part_of_name);
        if !starts && !ends {
            return true;
        }
        before = word.chars().next_back();
        rest = tail;
    }
    false
}

/// The state of taking a file apart, one character after the other.
struct SourceScanner {
    /// The characters of the file.
    chars: Vec<char>,
    /// The index of the next character.
    at: usize,
    /// The lines that are finished.
    lines: Vec<SourceLine>,
    /// The line that is being read.
    line: SourceLine,
}

impl SourceScanner {
    /// A scanner at the beginning of `text`.
    fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0, lines: Vec::new(), line: SourceLine::default() }
    }

    /// Reads to the end.
    fn scan(mut self) -> Vec<SourceLine> {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(None),
                ('r' | 'b' | 'c', _) if !self.inside_name() => self.prefixed(),
                ('\'', _) => self.quote(),
                _ => self.code(),
            }
        }
        if self.line != SourceLine::default() {
            self.end_line();
        }
        self.lines
    }

    /// The character `ahead` of the next one, which is 0.
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Finishes the line that is being read.
    fn end_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
    }

    /// Takes one character of code.
    fn code(&mut self) {
        match self.peek(0) {
            Some('\n') => self.end_line(),
            Some(c) => self.line.code.push(c),
            None => {}
        }
        self.at += 1;
    }

    /// Whether the last character of code belongs to a name, so that an `r` after it opens no string.
    fn inside_name(&self) -> bool {
        self.line.code.chars().next_back().is_some_and(|c| c == '_' || c.is_alphanumeric())
    }

    /// Reads a comment up to the end of its line. The third slash of a doc comment is the first character of
    /// its text.
    fn line_comment(&mut self) {
        self.at += 2;
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            self.line.comment.push(c);
            self.at += 1;
        }
    }

    /// Reads a comment between its marks, with those inside of it.
    fn block_comment(&mut self) {
        let mut depth = 0;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                ('\n', _) => {
                    self.end_line();
                    self.at += 1;
                    continue;
                }
                _ => {
                    self.line.comment.push(c);
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return;
            }
        }
    }

    /// A letter that may open a raw, byte or C string: `r"`, `r#"`, `b"`, `br#"`.
    fn prefixed(&mut self) {
        let mut ahead = 0;
        let mut is_raw = false;
        while let Some(c @ ('r' | 'b' | 'c')) = self.peek(ahead).filter(|_| ahead < 2) {
            is_raw |= c == 'r';
            ahead += 1;
        }
        let mut hashes = 0;
        while is_raw && self.peek(ahead + hashes) == Some('#') {
            hashes += 1;
        }
        if self.peek(ahead + hashes) == Some('"') {
            self.at += ahead + hashes;
            self.string(is_raw.then_some(hashes));
        } else {
            self.code();
        }
    }

    /// A string from its opening quote; `raw` holds the number of hashes of a raw one. The code holds `""` in
    /// its place. Its text belongs to the line on which it begins.
    fn string(&mut self, raw: Option<usize>) {
        self.line.code.push_str("\"\"");
        self.at += 1;
        let mut text = String::new();
        let opened = self.lines.len();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '"' if (0..raw.unwrap_or(0)).all(|ahead| self.peek(ahead) == Some('#')) => {
                    self.at += raw.unwrap_or(0);
                    break;
                }
                '\\' if raw.is_none() => {
                    if self.peek(0) == Some('\n') {
                        self.end_line();
                    }
                    self.at += 1;
                }
                '\n' => {
                    text.push('\n');
                    self.end_line();
                }
                _ => text.push(c),
            }
        }
        match self.lines.get_mut(opened) {
            Some(line) => line.strings.push(text),
            None => self.line.strings.push(text),
        }
    }

    /// A quote opens a character, or else a lifetime.
    fn quote(&mut self) {
        if self.peek(1) == Some('\\') {
            self.at += 3;
            while self.peek(0).is_some_and(|c| c != '\'') {
                self.at += 1;
            }
            self.at += 1;
            self.line.code.push_str("''");
        } else if self.peek(2) == Some('\'') {
            self.at += 3;
            self.line.code.push_str("''");
        } else {
            self.code();
        }
    }
}
