//! Tokens of strings, as `hasToken` knows them.

/// Runs of ASCII letters, digits and of bytes that are not ASCII.
pub fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).filter(|token| !token.is_empty())
}
