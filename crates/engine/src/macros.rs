//! Macros in the names of clusters and in the paths of replicated tables: `{shard}`. A server has them in its configuration; here
//! there are those alone that the place itself gives.

use chalet_base::{Result, bail, err};

/// The text with its macros replaced by what is known. Fails for others.
pub(crate) fn expand(text: &str, known: &[(&str, &str)]) -> Result<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find('{') {
        let inside = &rest[begin + 1..];
        let end = inside
            .find('}')
            .ok_or_else(|| err!(SYNTAX_ERROR, "Unbalanced {{ and }} in string with macros: '{text}'"))?;
        let name = &inside[..end];
        let at = text.len() - inside.len();
        out.push_str(&rest[..begin]);
        match known.iter().find(|(macro_name, _)| *macro_name == name) {
            Some((_, value)) => out.push_str(value),
            None if name == "uuid" => bail!(
                BAD_ARGUMENTS,
                "Macro 'uuid' in engine arguments is only supported when the UUID is explicitly specified, used within an ON \
                 CLUSTER query, or when using the Replicated database engine"
            ),
            None if name == "server_uuid" => bail!(
                BAD_ARGUMENTS,
                "Macro {{server_uuid}} expanded to zero, which means the UUID is not initialized (most likely it's not a server \
                 application)"
            ),
            None => bail!(
                NO_ELEMENTS_IN_CONFIG,
                "No macro '{name}' in config while processing substitutions in '{text}' at '{at}' or macro is not supported here"
            ),
        }
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
