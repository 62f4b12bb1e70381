//! Finds names by a few typed letters, the closest first.

/// How far `typed` is from `name`; less is closer. `None` if `name` does not contain the letters in order. A
/// match at the beginning of the name or of a word is the closest, then a match in one piece.
pub fn distance(name: &str, typed: &str) -> Option<usize> {
    let (name, typed) = (name.to_lowercase(), typed.trim().to_lowercase());
    if typed.is_empty() || name.starts_with(&typed) {
        return Some(0);
    }
    if let Some(at) = name.find(&typed) {
        let begins_word = name.get(..at).is_some_and(|before| before.ends_with([' ', '-', '_', '/', '.']));
        return Some(if begins_word { 1 } else { 2 });
    }
    let mut gaps = 0_usize;
    let mut letters = name.chars();
    for wanted in typed.chars().filter(|c| !c.is_whitespace()) {
        let gap = letters.by_ref().position(|letter| letter == wanted)?;
        gaps = gaps.saturating_add(gap);
    }
    Some(gaps.saturating_add(3))
}

/// The `max` closest of `things`. Equally close ones keep their order.
pub fn best<T>(things: Vec<T>, typed: &str, name: impl Fn(&T) -> &str, max: usize) -> Vec<T> {
    let near = things.into_iter().filter_map(|it| Some((distance(name(&it), typed)?, it)));
    let mut near: Vec<(usize, T)> = near.collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(max).map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    //! Tests of the order.

    use super::*;

    #[test]
    fn what_begins_comes_before_what_only_holds_the_letters() {
        let names = vec!["Next failed call", "Filter conversations", "Tools", "Follow the end", "Refill"];
        let of = |typed: &str| best(names.clone(), typed, |name| name, 3);
        assert_eq!(of("fi"), ["Filter conversations", "Refill", "Next failed call"]);
        assert_eq!(of("end"), ["Follow the end"]);
        assert_eq!(of("FTE"), ["Filter conversations", "Follow the end"]);
        assert_eq!(of("")[0], "Next failed call");
        assert_eq!(of("zz"), Vec::<&str>::new());
    }
}
