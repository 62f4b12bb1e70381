//! The entry of the operator's pages: everything is in the library.

fn main() {
    #[cfg(target_arch = "wasm32")]
    web::overview::start();
}
