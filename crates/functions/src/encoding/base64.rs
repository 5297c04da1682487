//! `base64Encode`, `base64Decode` and their forms for URLs.

use super::codec::Run;
use chalet_base::base64::{STANDARD, URL, decode, encode};

crate::codecs! {
    "base64Encode" &["TO_BASE64"], Run::Encode(|bytes, out| encode(bytes, out, STANDARD)),
        "The bytes of a string in base64." "base64Encode(s)"
        "SELECT base64Encode('clickhouse')" => "Y2xpY2tob3VzZQ==";
    "base64Decode" &["FROM_BASE64"], Run::Decode { decode: |text, out| decode(text, out, STANDARD, true), or_empty: false },
        "The bytes that a string in base64 stands for; an error when it is none." "base64Decode(s)"
        "SELECT base64Decode('Y2xpY2tob3VzZQ==')" => "clickhouse";
    "tryBase64Decode" &[], Run::Decode { decode: |text, out| decode(text, out, STANDARD, true), or_empty: true },
        "As base64Decode, with an empty string instead of an error." "tryBase64Decode(s)"
        "SELECT tryBase64Decode('Y2xpY2tob3VzZQ=='), tryBase64Decode('?')" => "clickhouse\t";
    "base64URLEncode" &[], Run::Encode(|bytes, out| encode(bytes, out, URL)),
        "The bytes of a string in the form of base64 for URLs." "base64URLEncode(s)"
        "SELECT base64URLEncode('https://clickhouse.com')" => "aHR0cHM6Ly9jbGlja2hvdXNlLmNvbQ";
    "base64URLDecode" &[], Run::Decode { decode: |text, out| decode(text, out, URL, false), or_empty: false },
        "The bytes that a string in the form of base64 for URLs stands for; an error when it is none." "base64URLDecode(s)"
        "SELECT base64URLDecode('aHR0cHM6Ly9jbGlja2hvdXNlLmNvbQ')" => "https://clickhouse.com";
    "tryBase64URLDecode" &[], Run::Decode { decode: |text, out| decode(text, out, URL, false), or_empty: true },
        "As base64URLDecode, with an empty string instead of an error." "tryBase64URLDecode(s)"
        "SELECT tryBase64URLDecode('!')" => "";
}
