//! Formulas as trees, and that whatever a model writes is read without harm.

use proptest::prelude::*;

use super::*;

/// A node in short: `mfrac(a 2)`.
fn print(node: &MathNode) -> String {
    match node {
        MathNode::Leaf(_, _, text) => text.clone(),
        MathNode::Element(name, _, children) => {
            format!("{name}({})", children.iter().map(print).collect::<Vec<_>>().join(" "))
        }
    }
}

fn read(source: &str) -> String {
    formula(source).map_or_else(|| "none".to_owned(), |node| print(&node))
}

#[test]
fn formulas_become_the_elements_that_they_name() {
    for (source, expected) in [
        ("x", "x"),
        ("E = mc^2", "mrow(E = m msup(c 2))"),
        (r"\frac{a+1}{2}", "mfrac(mrow(a + 1) 2)"),
        (r"\frac12", "mfrac(1 2)"),
        ("x_{i,j}^{2k}", "msubsup(x mrow(i , j) mrow(2 k))"),
        (r"\sum_{i=1}^n i", "mrow(munderover(∑ mrow(i = 1) n) i)"),
        (r"\lim_{x \to 0} f'(x)", "mrow(munder(lim mrow(x → 0)) msup(f ′) ( x ))"),
        (r"\sqrt[3]{x} + \sqrt 2", "mrow(mroot(x 3) + msqrt(2))"),
        (r"\left( \frac{a}{b} \right)", "mrow(( mfrac(a b) ))"),
        (r"\left. x \right|", "mrow(x |)"),
        (r"\mathbb{R}^n \in \mathcal{A}", "mrow(msup(ℝ n) ∈ 𝓐)"),
        (r"\text{if } x \ge 0", "mrow(if\u{a0} x ≥ 0)"),
        (r"\hat{y}", "mover(y ^)"),
        (
            r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \\ \end{pmatrix}",
            "mrow(( mtable(mtr(mtd(1) mtd(2)) mtr(mtd(3) mtd(4))) ))",
        ),
        (
            r"\begin{cases} a & b \\ c & d \end{cases}",
            "mrow({ mtable(mtr(mtd(a) mtd(b)) mtr(mtd(c) mtd(d))))",
        ),
        (r"a &= b \\ &= c", "mtable(mtr(mtd(a) mtd(= b)) mtr(mtd() mtd(= c)))"),
        (r"90^\circ", "msup(90 ∘)"),
        (r"3.14.", "mrow(3.14 .)"),
        (r"x \not= y", "mrow(x =\u{338} y)"),
        (r"\sin\theta", "mrow(sin θ)"),
    ] {
        assert_eq!(read(source), expected, "{source}");
    }
}

#[test]
fn what_is_not_known_is_shown_and_what_cannot_be_read_has_no_tree() {
    assert_eq!(read(r"\unknown{x}"), r"mrow(\unknown x)");
    assert_eq!(read(r"\href{javascript:alert(1)}{x}"), read(r"\href{javascript:alert(1)}{x}"));
    assert!(!read(r"\href{javascript:alert(1)}{x}").contains("href("), "no element");
    for source in [
        "",
        "  ",
        "{",
        "}",
        r"\frac{a}",
        "x^",
        r"\left( x",
        r"\begin{x}\end{x}",
        r"\begin{cases}",
        "a}b",
        r"\text{",
    ] {
        assert_eq!(formula(source), None, "{source}");
    }
    assert_eq!(formula(&"x".repeat(FORMULA_BYTES_MAX + 1)), None);
}

#[test]
fn formulas_nest_as_deep_as_markdown_and_no_deeper() {
    // A page has a stack of one megabyte.
    let check = || {
        let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + "x" + &close.repeat(depth);
        assert!(formula(&nested("{", "}", 20)).is_some());
        for (open, close) in
            [("{", "}"), (r"\sqrt{", "}"), ("x^{", "}"), (r"\left(", r"\right)"), (r"\hat", ""), ("_", "")]
        {
            let _any = formula(&nested(open, close, 600));
        }
        assert_eq!(formula(&nested("{", "}", 200)), None);
        assert_eq!(formula(&nested(r"\hat", " ", 200)), None);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(check).unwrap().join().unwrap();
}

#[test]
fn marks_tell_whether_a_formula_has_its_own_lines() {
    assert_eq!(without_marks(r"\(x\)"), Some(("x", false)));
    assert_eq!(without_marks("$$x$$"), Some(("x", true)));
    assert_eq!(without_marks("$x$"), Some(("x", false)));
    assert_eq!(without_marks(r"\[x\]"), Some(("x", true)));
    assert_eq!(without_marks("x"), None);
}

/// The text of all leaves.
fn said(node: &MathNode, out: &mut String) {
    match node {
        MathNode::Leaf(_, _, text) => out.push_str(text),
        MathNode::Element(_, _, children) => children.iter().for_each(|child| said(child, out)),
    }
}

proptest! {
    #[test]
    fn whatever_a_model_writes_is_read(source in "(\\\\[a-z]{1,6}|\\\\frac|\\\\left|\\\\right|\\\\begin\\{cases\\}|\\\\end\\{cases\\}|\\{|\\}|_|\\^|&|\\\\\\\\|\\(|x|1|'|é| |\\[|\\]){0,40}") {
        if let Some(node) = formula(&source) {
            prop_assert!(node.elements() <= source.len().saturating_mul(4).saturating_add(4));
        }
    }

    #[test]
    fn letters_and_numbers_are_all_shown(source in "([a-z]|[1-9]|\\+| |\\{|\\}|\\\\frac|_|\\^){0,30}") {
        if let Some(node) = formula(&source) {
            let mut shown = String::new();
            said(&node, &mut shown);
            let kept = |text: &str| {
                let mut kept: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
                kept.sort_unstable();
                kept
            };
            let written = source.replace("\\frac", " ");
            // `\frac` and letters behind it are another command, which is shown as it was written.
            prop_assume!(!shown.contains('\\'));
            prop_assert_eq!(kept(&shown), kept(&written));
        }
    }
}
