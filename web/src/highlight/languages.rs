//! The comments, strings and keywords of languages.
//!
//! A language is a table, not a grammar: what begins a comment or a string, and the keywords. A name that is
//! not here is not coloured.

/// A language, as far as it is coloured.
pub(super) struct Language {
    /// What begins a comment that ends at the end of its line.
    pub(super) line: &'static [&'static str],
    /// What begins and ends other comments.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// What begins and ends strings, the longest first.
    pub(super) quotes: &'static [&'static str],
    /// Whether a backslash escapes the next character of a string.
    pub(super) escapes: bool,
    /// The keywords, separated by single spaces.
    words: &'static str,
    /// Whether keywords are compared without case.
    any_case: bool,
}

impl Language {
    /// Whether `word` is a keyword.
    pub(super) fn has(&self, word: &str) -> bool {
        if self.any_case {
            return self.words.split(' ').any(|known| known.eq_ignore_ascii_case(word));
        }
        self.words.split(' ').any(|known| known == word)
    }
}

/// The block comments of C.
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

/// A language with the comments of C.
const fn like_c(words: &'static str, quotes: &'static [&'static str]) -> Language {
    Language { line: &["//"], block: C_BLOCK, quotes, escapes: true, words, any_case: false }
}

/// A language with the comments of a shell.
const fn like_shell(words: &'static str) -> Language {
    Language { line: &["#"], block: None, quotes: &["\"", "'"], escapes: true, words, any_case: false }
}

/// The language that a code fence names `name`.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn language(name: &str) -> Option<Language> {
    let name = name.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    Some(match name.as_str() {
        "rust" | "rs" => like_c(
            "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod \
             move mut pub ref return self Self static struct super trait true type unsafe use where while",
            &["\""],
        ),
        "js" | "javascript" | "jsx" | "ts" | "typescript" | "tsx" | "mjs" => like_c(
            "abstract any as async await boolean break case catch class const continue declare default delete do else \
             enum export extends false finally for from function get if implements import in instanceof interface let \
             new null number of private protected public readonly return set static string super switch this throw true \
             try type typeof undefined var void while with yield",
            &["\"", "'", "`"],
        ),
        "py" | "python" | "python3" => Language {
            line: &["#"],
            block: None,
            quotes: &["\"\"\"", "'''", "\"", "'"],
            escapes: true,
            words: "False None True and as assert async await break class continue def del elif else except finally for \
                    from global if import in is lambda match nonlocal not or pass raise return try while with yield",
            any_case: false,
        },
        "go" | "golang" => like_c(
            "any bool break case chan const continue default defer else error fallthrough false for func go goto if \
             import int interface map nil package range return select string struct switch true type var",
            &["\"", "`"],
        ),
        "c" | "h" | "cpp" | "c++" | "cc" | "hpp" | "cs" | "csharp" | "c#" | "java" | "kotlin" | "kt"
        | "swift" | "scala" | "php" | "dart" => like_c(
            "abstract auto bool boolean break case catch char class const continue data def default delete do double else \
             enum explicit export extends false final finally float for foreach fun func if implements import in \
             include inline int interface internal let long namespace new null nullptr object operator override package \
             private protected public return sealed self short signed sizeof static struct super switch template this \
             throw throws true try typedef typename union unsigned using val var virtual void when where while",
            &["\"\"\"", "\"", "'"],
        ),
        "sql" | "postgres" | "postgresql" | "mysql" | "sqlite" => Language {
            line: &["--"],
            block: C_BLOCK,
            quotes: &["'", "\""],
            escapes: false,
            words: "add all alter and as asc begin between by case check commit constraint create cross default delete \
                    desc distinct drop else end exists explain false foreign from full group having if in index inner \
                    insert into is join key left like limit not null offset on or order outer over partition primary \
                    references returning right rollback select set table then true union unique update using values \
                    view when where with",
            any_case: true,
        },
        "sh" | "bash" | "zsh" | "shell" | "console" | "fish" => like_shell(
            "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local \
             read return set shift sudo then trap unset until while",
        ),
        "yaml" | "yml" | "toml" | "ini" | "dockerfile" | "docker" | "make" | "makefile" => like_shell(
            "true false null yes no on off FROM RUN COPY ADD CMD ENTRYPOINT ENV EXPOSE WORKDIR ARG USER AS",
        ),
        "rb" | "ruby" | "elixir" | "ex" => like_shell(
            "and begin break case class def defmodule do else elsif end ensure false fn for if in module next nil not or \
             redo rescue return self super then true unless until when while yield",
        ),
        "json" | "jsonc" | "json5" => like_c("true false null", &["\""]),
        "css" | "scss" | "less" => Language {
            line: &[],
            block: C_BLOCK,
            quotes: &["\"", "'"],
            escapes: true,
            words: "important inherit initial none auto unset",
            any_case: false,
        },
        "html" | "xml" | "svg" | "vue" => Language {
            line: &[],
            block: Some(("<!--", "-->")),
            quotes: &["\""],
            escapes: false,
            words: "",
            any_case: false,
        },
        // The source of a diagram, until it is drawn, and where it cannot be.
        "mermaid" | "mmd" => Language {
            line: &["%%"],
            block: None,
            quotes: &["\""],
            escapes: false,
            words: "BT LR RL TB TD accDescr accTitle activate actor alt and as autonumber axisFormat break class \
                    classDef classDiagram click critical dateFormat deactivate direction else end erDiagram flowchart \
                    gantt gitGraph graph journey linkStyle loop mindmap namespace note opt par participant pie \
                    quadrantChart rect section sequenceDiagram state stateDiagram style subgraph timeline title v2 \
                    xychart",
            any_case: false,
        },
        _ => return None,
    })
}
