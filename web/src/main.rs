//! The entry point; everything is in the library.

fn main() {
    #[cfg(target_arch = "wasm32")]
    web::start();
}
