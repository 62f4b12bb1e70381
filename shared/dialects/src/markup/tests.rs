//! Tags are read back as they were meant.

use super::{attribute, unescape};

#[test]
fn entities_are_written_out_once() {
    assert_eq!(unescape("a &lt;b&gt; &amp;amp; &quot;c&#39;&#x27;&#10;&apos;"), "a <b> &amp; \"c''\n'");
    assert_eq!(unescape("fish & chips &unknown; &#xffffffff; &"), "fish & chips &unknown; &#xffffffff; &");
    assert_eq!(unescape("&é;"), "&é;");
}

#[test]
fn attributes_are_found_whatever_quotes_they_have() {
    let tag = " id='x' name=\"a=b > c\" bare=1 empty=\"\" last=\"&quot;z&quot;\"";
    assert_eq!(attribute(tag, "id").unwrap(), "x");
    assert_eq!(attribute(tag, "name").unwrap(), "a=b > c");
    assert_eq!(attribute(tag, "empty").unwrap(), "");
    assert_eq!(attribute(tag, "last").unwrap(), "\"z\"");
    assert_eq!(attribute(tag, "bare"), None);
    assert_eq!(attribute(" id=\"never closed", "id"), None);
}
