//! The names of letters, signs and functions, and the letters of other alphabets.

/// Letters, by name: identifiers of a formula.
const LETTERS: &str = "alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι \
    kappa κ lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ \
    varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω \
    infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ imath ı jmath ȷ Re ℜ Im ℑ aleph ℵ emptyset ∅ varnothing ∅ top ⊤ bot ⊥ \
    angle ∠ prime ′ degree ° ldots … dots … cdots ⋯ vdots ⋮ ddots ⋱ square □ blacksquare ■ checkmark ✓";

/// Signs: operators and relations.
const SIGNS: &str = "cdot ⋅ times × div ÷ pm ± mp ∓ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ otimes ⊗ odot ⊙ wedge ∧ \
    land ∧ vee ∨ lor ∨ neg ¬ lnot ¬ cap ∩ cup ∪ setminus ∖ sqcup ⊔ le ≤ leq ≤ leqslant ⩽ ge ≥ geq ≥ geqslant ⩾ ne ≠ neq ≠ \
    ll ≪ gg ≫ approx ≈ equiv ≡ sim ∼ simeq ≃ cong ≅ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ \
    supseteq ⊇ forall ∀ exists ∃ nexists ∄ to → rightarrow → leftarrow ← leftrightarrow ↔ Rightarrow ⇒ implies ⟹ \
    Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺ mapsto ↦ longrightarrow ⟶ uparrow ↑ downarrow ↓ hookrightarrow ↪ \
    rightharpoonup ⇀ mid ∣ nmid ∤ parallel ∥ perp ⊥ models ⊨ vdash ⊢ therefore ∴ because ∵ colon : triangleq ≜ \
    coloneqq ≔ gets ← langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | lVert ‖ rVert ‖ vert | \
    Vert ‖ lbrace { rbrace } lbrack [ rbrack ] backslash \\ int ∫ iint ∬ iiint ∭ oint ∮ dagger † ";

/// Signs that have their limits above and below them in a formula on lines of its own.
const LARGE: &str = "sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂";

/// Functions, which are written upright.
const FUNCTIONS: &str =
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp arg deg dim ker hom ";

/// Functions with limits below them.
const LIMITS: &str = "lim max min sup inf limsup liminf det gcd Pr argmax argmin ";

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    /// A letter of an alphabet.
    Letter(&'static str),
    /// A sign of one character.
    Sign(&'static str),
    /// A sign with limits above and below.
    Large(&'static str),
    /// A function whose name is written upright.
    Function,
    /// A function with limits below.
    Limits,
}

/// What the command `\name` stands for.
pub(super) fn symbol(name: &str) -> Option<Symbol> {
    let is_in = |names: &str| names.split(' ').any(|known| known == name);
    if let Some(letter) = of(LETTERS, name) {
        return Some(Symbol::Letter(letter));
    }
    if let Some(sign) = of(SIGNS, name) {
        return Some(Symbol::Sign(sign));
    }
    if let Some(sign) = of(LARGE, name) {
        return Some(Symbol::Large(sign));
    }
    if is_in(FUNCTIONS) {
        return Some(Symbol::Function);
    }
    is_in(LIMITS).then_some(Symbol::Limits)
}

/// The word behind `name` in a list of pairs.
fn of(pairs: &'static str, name: &str) -> Option<&'static str> {
    let mut words = pairs.split_ascii_whitespace();
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        if key == name {
            return Some(value);
        }
    }
    None
}

/// The accent that `\name` puts over or under its argument, and whether it is under it.
pub(super) fn accent(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "hat" | "widehat" => ("^", false),
        "bar" | "overline" => ("¯", false),
        "vec" | "overrightarrow" => ("→", false),
        "dot" => ("˙", false),
        "ddot" => ("¨", false),
        "tilde" | "widetilde" => ("~", false),
        "check" => ("ˇ", false),
        "breve" => ("˘", false),
        "overbrace" => ("⏞", false),
        "underbrace" => ("⏟", true),
        "underline" => ("_", true),
        _ => return None,
    })
}

/// The width of the space that `\name` makes.
pub(super) fn space(name: &str) -> Option<super::Attributes> {
    Some(match name {
        "," | "thinspace" => &[("width", "0.167em")],
        ":" | ">" | "medspace" => &[("width", "0.222em")],
        ";" | "thickspace" => &[("width", "0.278em")],
        " " | "~" => &[("width", "0.333em")],
        "!" => &[("width", "-0.167em")],
        "quad" => &[("width", "1em")],
        "qquad" => &[("width", "2em")],
        _ => return None,
    })
}

/// `letter` in the alphabet that `\name` writes in: double-struck, calligraphic, fraktur, bold. A letter that
/// is not in it stays.
pub(super) fn styled(name: &str, letter: char) -> char {
    let at = |upper: u32, lower: u32, digit: u32| {
        let (base, first) = match letter {
            'A'..='Z' => (upper, 'A'),
            'a'..='z' => (lower, 'a'),
            '0'..='9' if digit > 0 => (digit, '0'),
            _ => return letter,
        };
        let offset = u32::from(letter).saturating_sub(u32::from(first));
        char::from_u32(base.saturating_add(offset)).unwrap_or(letter)
    };
    match (name, letter) {
        ("mathbb", 'C') => 'ℂ',
        ("mathbb", 'H') => 'ℍ',
        ("mathbb", 'N') => 'ℕ',
        ("mathbb", 'P') => 'ℙ',
        ("mathbb", 'Q') => 'ℚ',
        ("mathbb", 'R') => 'ℝ',
        ("mathbb", 'Z') => 'ℤ',
        ("mathbb", _) => at(0x1D538, 0x1D552, 0x1D7D8),
        ("mathcal" | "mathscr", _) => at(0x1D4D0, 0x1D4EA, 0),
        ("mathfrak", _) => at(0x1D56C, 0x1D586, 0),
        ("mathbf" | "boldsymbol" | "bm", _) => at(0x1D400, 0x1D41A, 0x1D7CE),
        _ => letter,
    }
}
