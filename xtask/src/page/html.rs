//! The page's HTML under a strict content security policy: scripts move into files, and what such a policy would
//! refuse is refused here, where the message says so, instead of in a browser's console.

/// The page after its scripts have moved out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SplitPage {
    /// The HTML, without inline scripts.
    pub(crate) html: String,
    /// The scripts that were inside.
    pub(crate) scripts: Vec<PageScript>,
}

/// A script that stood inside the HTML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageScript {
    /// The file name of the script: it holds the hash of the body, so that it may be cached for ever.
    pub(crate) name: String,
    /// The text of the script.
    pub(crate) body: String,
}

/// Moves every inline script into a file `boot-HASH.js` and refers to that.
pub(crate) fn move_scripts_out(html: &str) -> SplitPage {
    let mut page = SplitPage { html: String::with_capacity(html.len()), scripts: Vec::new() };
    let mut rest = html;
    while let Some((before, after)) = rest.split_once("<script") {
        page.html.push_str(before);
        page.html.push_str("<script");
        let (attributes, body, left) = script_parts(after);
        rest = left;
        page.html.push_str(attributes);
        if runs_inline(attributes, body) {
            let body = format!("{}\n", body.trim());
            let name = format!("boot-{}.js", hash(body.as_bytes()));
            page.html.extend([" src=\"/", &name, "\"></script>"]);
            page.scripts.push(PageScript { name, body });
        } else {
            page.html.extend([">", body, "</script>"]);
        }
    }
    page.html.push_str(rest);
    page
}

/// Says what a policy without `unsafe-inline` would refuse in this page.
pub(crate) fn check(html: &str) -> Result<(), String> {
    let mut rest = html;
    while let Some((_, after)) = rest.split_once("<script") {
        let (attributes, body, left) = script_parts(after);
        if runs_inline(attributes, body) {
            return Err(refused("a script inside the HTML", body));
        }
        rest = left;
    }
    for tag in tags(html) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        if name.eq_ignore_ascii_case("style") {
            return Err(refused("a style element", tag));
        }
        for attribute in tag.split_whitespace().skip(1) {
            let Some((key, value)) = attribute.split_once('=') else { continue };
            let key = key.to_ascii_lowercase();
            let event = key.strip_prefix("on").is_some_and(|event| event.chars().all(char::is_alphabetic));
            if event || key == "style" || value.trim_start_matches(['"', '\'']).starts_with("javascript:") {
                return Err(refused("code or style in an attribute", tag));
            }
        }
    }
    Ok(())
}

/// A name for these bytes: FNV-1a, 64 bits, hexadecimal. It tells versions of our own files apart, nothing more.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let fold = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// What follows `<script`: its attributes, its body, and the rest of the page.
fn script_parts(after: &str) -> (&str, &str, &str) {
    let (attributes, inside) = after.split_once('>').unwrap_or((after, ""));
    let (body, left) = inside.split_once("</script>").unwrap_or((inside, ""));
    (attributes, body, left)
}

/// True for a script that has its code in the HTML; a block of JSON is not code.
fn runs_inline(attributes: &str, body: &str) -> bool {
    let has = |word: &str| attributes.split_whitespace().any(|attribute| attribute.starts_with(word));
    !body.trim().is_empty() && !has("src=") && !attributes.contains("json")
}

/// The inside of each tag, comments and closing tags left out.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    let opens = html.split('<').skip(1).filter(|piece| !piece.starts_with(['!', '/']));
    opens.filter_map(|piece| piece.split_once('>').map(|(tag, _)| tag))
}

/// The message for `what`, with the beginning of what was found.
fn refused(what: &str, found: &str) -> String {
    let start: String = found.trim().chars().take(80).collect();
    format!("dist/index.html holds {what}, which the content security policy refuses: {start}")
}

#[cfg(test)]
mod tests;
