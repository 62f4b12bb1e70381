//! The page's entry: everything is in the library.

fn main() {}
