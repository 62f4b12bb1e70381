//! JSON with line breaks and colours, and not one character of its values changed: numbers keep their spelling, keys
//! their order.

/// A piece of JSON that is painted in one colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonToken {
    /// The kind of the token, which decides its colour.
    pub kind: TokenKind,
    /// The text of the token.
    pub text: String,
}

/// What a piece of JSON is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Brackets, commas, white space.
    Plain,
    /// The name of a field.
    Key,
    /// A JSON string.
    Text,
    /// A number, `true`, `false`, `null`.
    Word,
}

/// Most levels that are shown by spaces. Beyond it lines begin where the last of them do: else nested brackets around a long list
/// would make sixty-six bytes of each two.
const LEVELS_MAX: usize = 8;

/// `json` laid out with two spaces for each level, up to `LEVELS_MAX`. Any text goes in; what is not JSON comes out with odd line breaks,
/// but whole.
pub fn pretty(json: &str) -> Vec<JsonToken> {
    let mut printer = JsonPrinter::default();
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                let mut text = String::from(c);
                let mut escaped = false;
                for c in chars.by_ref() {
                    text.push(c);
                    match c {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        '"' => break,
                        _ => {}
                    }
                }
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                let kind = if chars.peek() == Some(&':') { TokenKind::Key } else { TokenKind::Text };
                printer.push(kind, &text);
            }
            '{' | '[' => {
                printer.push(TokenKind::Plain, c.encode_utf8(&mut [0; 4]));
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!((c, next), ('{', '}') | ('[', ']'))) {
                    printer.push(TokenKind::Plain, close.encode_utf8(&mut [0; 4]));
                } else {
                    printer.deeper();
                }
            }
            '}' | ']' => {
                printer.shallower();
                printer.push(TokenKind::Plain, c.encode_utf8(&mut [0; 4]));
            }
            ',' => {
                printer.push(TokenKind::Plain, ",");
                printer.line();
            }
            ':' => printer.push(TokenKind::Plain, ": "),
            c if c.is_ascii_whitespace() => {}
            c => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| !c.is_ascii_whitespace() && !",:]}{[\"".contains(*c)) {
                    word.push(c);
                }
                printer.push(TokenKind::Word, &word);
            }
        }
    }
    printer.tokens
}

#[derive(Default)]
struct JsonPrinter {
    tokens: Vec<JsonToken>,
    depth: usize,
}

impl JsonPrinter {
    /// Adds text; neighbours of one colour are one token, which keeps the page's node count down.
    fn push(&mut self, kind: TokenKind, text: &str) {
        match self.tokens.last_mut() {
            Some(last) if last.kind == kind => last.text.push_str(text),
            _ => self.tokens.push(JsonToken { kind, text: text.to_owned() }),
        }
    }

    fn line(&mut self) {
        let line = format!("\n{}", "  ".repeat(self.depth.min(LEVELS_MAX)));
        self.push(TokenKind::Plain, &line);
    }

    fn deeper(&mut self) {
        self.depth = self.depth.saturating_add(1);
        self.line();
    }

    fn shallower(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.line();
    }
}
