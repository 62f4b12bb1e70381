//! Finds the images on other hosts that are offered to the reader, and the hosts that are named for them.

/// The endings of addresses of images.
const ENDS: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"];

/// The host that a browser asks for `url`, for display. `None` if the display could mislead: with a user name
/// before the host, or characters that browsers convert.
pub fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let is_plain = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b));
    (is_plain && !host.is_empty()).then_some(host)
}

/// The host, if `url` looks like the address of an image.
pub fn host_of_image(url: &str) -> Option<&str> {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    host(url).filter(|_| ENDS.iter().any(|end| path.ends_with(end)))
}

#[cfg(test)]
mod tests {
    //! Tests of whose name is shown.

    use super::*;

    #[test]
    fn the_host_is_the_one_that_the_browser_asks() {
        assert_eq!(host("https://example.org/a.png?b=https://c.net/"), Some("example.org"));
        assert_eq!(host("http://[::1]:8080"), Some("[::1]:8080"));
        for url in [
            "https://example.org@evil.net/a.png",
            "https://evil.net\\@example.org/a.png",
            "https://ex%61mple.org/a.png",
            "https://ехample.org/a.png",
            "https:///evil.net/a.png",
            "https:evil.net",
            "HTTPS://example.org",
            "mailto:a@example.org",
            "javascript:alert(1)",
            "/a.png",
        ] {
            assert_eq!(host(url), None, "{url}");
        }
    }

    #[test]
    fn images_are_known_by_their_address() {
        assert_eq!(host_of_image("https://example.org/a.PNG?size=1#x"), Some("example.org"));
        assert_eq!(host_of_image("https://example.org/report.pdf?a=.png"), None);
        assert_eq!(host_of_image("https://example.png"), Some("example.png"));
    }
}
