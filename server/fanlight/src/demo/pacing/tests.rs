//! Tests of the pace.

use super::*;

const TEXT: &str =
    "Two regions explain it: the Nordics – incomparably – and Iberia.\n\n| a | b |\n|---|---|\n";

#[test]
fn a_written_text_is_the_text() {
    for seed in 0..200 {
        let pieces = written(TEXT, 60, &mut DemoRandom::new(seed));
        let whole: String = pieces.iter().map(|(_, piece)| *piece).collect();
        assert_eq!(whole, TEXT);
        assert!(pieces.iter().all(|(_, piece)| !piece.is_empty()));
    }
}

#[test]
fn a_rate_is_kept_on_the_whole() {
    let text = "word ".repeat(600);
    let taken: Duration = written(&text, 60, &mut DemoRandom::new(3)).iter().map(|(pause, _)| *pause).sum();
    assert!((8..=13).contains(&taken.as_secs()), "{taken:?}");
}

#[test]
fn the_same_seed_plays_the_same_way() {
    let play = |seed| {
        written(TEXT, 60, &mut DemoRandom::new(seed)).iter().map(|(pause, _)| *pause).collect::<Vec<_>>()
    };
    assert_eq!(play(5), play(5));
    assert_ne!(play(5), play(6));
}
