//! Which files of a crate use which others, from the paths that they name: `use` items and paths in expressions and types.
//! Re-exports are followed to the file that defines the name, so that a `mod.rs` which only lists its modules is no hub.

use crate::rust_source::{self, Placed, Token};
use std::collections::{BTreeMap, BTreeSet};

/// A module's path below the crate's root, which is empty.
type Path = Vec<String>;

/// For each file the others that it uses. `files` are paths below `src/` with their sources.
pub fn uses(files: &[(String, String)]) -> Vec<BTreeSet<usize>> {
    let mut graph = Graph::default();
    for (index, (file, source)) in files.iter().enumerate() {
        let Some(module) = module_of(file) else { continue };
        graph.modules.entry(module.clone()).or_insert_with(|| Module::of(index));
        Reader { graph: &mut graph, tokens: &rust_source::code_tokens(source), at: 0, file: index, module }
            .run();
    }
    let mut uses = vec![BTreeSet::new(); files.len()];
    for mention in &graph.mentions {
        let found = graph.resolve(&mention.module, &mention.path, &mut BTreeSet::new());
        uses[mention.file].extend(graph.files_of(mention, found));
    }
    for (file, used) in uses.iter_mut().enumerate() {
        used.remove(&file);
    }
    uses
}

/// `a/mod.rs` and `a.rs` are `a`; nothing for the roots of other binaries.
fn module_of(file: &str) -> Option<Path> {
    let inner = file.strip_suffix(".rs")?;
    if matches!(inner, "lib" | "main") {
        return Some(Path::new());
    }
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    (!inner.starts_with("bin/")).then(|| inner.split('/').map(str::to_owned).collect())
}

#[derive(Default)]
struct Graph {
    modules: BTreeMap<Path, Module>,
    mentions: Vec<Mention>,
    /// Files of macros that are exported, which are named as if the root had them.
    macros: BTreeMap<String, usize>,
    /// Words of each file outside of `use` items.
    words: BTreeMap<usize, BTreeSet<String>>,
}

/// A module that is a file, or stands inside of one.
struct Module {
    file: usize,
    defined: BTreeSet<String>,
    /// What names of `use` items stand for.
    imported: BTreeMap<String, Path>,
    globs: Vec<Path>,
}

/// A path as a file names it.
struct Mention {
    file: usize,
    module: Path,
    path: Path,
    import: Import,
}

enum Import {
    /// The path stands in code, or in a private `use`: the compiler sees to it that it is used.
    Used,
    /// Re-exported under this name.
    Public(String),
    Glob,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    File(usize),
    Module(Path),
}

impl Module {
    fn of(file: usize) -> Module {
        Module { file, defined: BTreeSet::new(), imported: BTreeMap::new(), globs: Vec::new() }
    }
}

impl Graph {
    fn files_of(&self, mention: &Mention, found: Option<Target>) -> BTreeSet<usize> {
        let words = self.words.get(&mention.file);
        let is_word = |name: &String| words.is_some_and(|words| words.contains(name));
        match (&mention.import, found) {
            (Import::Public(name), Some(Target::File(_))) if !is_word(name) => BTreeSet::new(),
            (_, Some(Target::File(file))) => BTreeSet::from([file]),
            (Import::Glob, Some(Target::Module(path))) => {
                let Some(module) = self.modules.get(&path) else { return BTreeSet::new() };
                let names = module.defined.iter().chain(module.imported.keys()).filter(|name| is_word(name));
                let files = names.filter_map(|name| {
                    self.descend(path.clone(), std::slice::from_ref(name), &mut BTreeSet::new())
                });
                files
                    .filter_map(|target| if let Target::File(file) = target { Some(file) } else { None })
                    .collect()
            }
            // What is named through the module counts where it is named.
            _ => BTreeSet::new(),
        }
    }

    /// What a path means inside of a module. Nothing for paths into other crates and for names that are no modules'.
    fn resolve(
        &self,
        module: &[String],
        path: &[String],
        seen: &mut BTreeSet<(Path, String)>,
    ) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let child = [module, std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => self.descend(Path::new(), rest, seen),
            "self" => self.descend(module.to_vec(), rest, seen),
            "super" => {
                let (_, parent) = module.split_last()?;
                match rest.first() {
                    Some(next) if next == "super" => self.resolve(parent, rest, seen),
                    _ => self.descend(parent.to_vec(), rest, seen),
                }
            }
            _ if self.modules.contains_key(&child) => self.descend(child, rest, seen),
            _ => self.follow(module, path, seen),
        }
    }

    /// A path from inside of a module on.
    fn descend(
        &self,
        mut module: Path,
        path: &[String],
        seen: &mut BTreeSet<(Path, String)>,
    ) -> Option<Target> {
        let mut rest = path;
        while let Some((next, behind)) = rest.split_first() {
            module.push(next.clone());
            if !self.modules.contains_key(&module) {
                module.pop();
                break;
            }
            rest = behind;
        }
        let Some(name) = rest.first() else { return Some(Target::Module(module)) };
        let found = self.modules.get(&module)?;
        if found.defined.contains(name) {
            return Some(Target::File(found.file));
        }
        if module.is_empty() && self.macros.contains_key(name) {
            return self.macros.get(name).copied().map(Target::File);
        }
        if found.imported.contains_key(name) {
            // Nothing where it comes from another crate.
            return self.follow(&module, rest, seen);
        }
        self.follow(&module, rest, seen).or(Some(Target::File(found.file)))
    }

    /// A path that begins with a name which a module has imported.
    fn follow(
        &self,
        module: &[String],
        path: &[String],
        seen: &mut BTreeSet<(Path, String)>,
    ) -> Option<Target> {
        let (name, rest) = path.split_first()?;
        if !seen.insert((module.to_vec(), name.clone())) {
            return None;
        }
        let found = self.modules.get(module)?;
        if let Some(meant) = found.imported.get(name) {
            let whole = [meant, rest].concat();
            return if whole == path { None } else { self.resolve(module, &whole, seen) };
        }
        found.globs.iter().find_map(|glob| {
            let Some(Target::Module(inside)) = self.resolve(module, glob, seen) else { return None };
            let target = self.modules.get(&inside)?;
            let is_there = target.defined.contains(name) || target.imported.contains_key(name);
            if is_there { self.descend(inside, path, seen) } else { None }
        })
    }
}

/// Reads one file.
struct Reader<'a> {
    graph: &'a mut Graph,
    tokens: &'a [Placed],
    at: usize,
    file: usize,
    /// Where the reader is: the file's module, and the modules inside of it that are open.
    module: Path,
}

const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

impl Reader<'_> {
    fn run(mut self) {
        let (mut depth, mut open) = (0usize, Vec::new());
        while let Some(token) = self.tokens.get(self.at) {
            let at_top = open.last().copied().unwrap_or(0) == depth;
            if token.is("{") {
                depth += 1;
            } else if token.is("}") {
                depth = depth.saturating_sub(1);
                if open.last().is_some_and(|inner| *inner > depth) {
                    open.pop();
                    self.module.pop();
                }
            } else if token.is("use") && !self.next_is(1, "<") {
                self.import();
                continue;
            } else if token.is("mod") && self.next_is(2, "{") {
                let name = self.word(1).unwrap_or_default();
                self.module.push(name);
                self.graph.modules.insert(self.module.clone(), Module::of(self.file));
                depth += 1;
                open.push(depth);
                self.at += 3;
                continue;
            } else if at_top && ITEMS.iter().any(|item| token.is(item)) {
                self.define(1);
            } else if at_top && token.is("macro_rules") {
                self.define(2);
            } else if let Some(word) = self.word(0) {
                let path = self.path();
                self.graph.words.entry(self.file).or_default().insert(word);
                if path.len() > 1 {
                    self.mention(path, Import::Used);
                    continue;
                }
            }
            self.at += 1;
        }
    }

    fn next_is(&self, ahead: usize, expected: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| token.is(expected))
    }

    fn word(&self, ahead: usize) -> Option<String> {
        match &self.tokens.get(self.at + ahead)?.token {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    fn own(&mut self) -> &mut Module {
        let file = self.file;
        self.graph.modules.entry(self.module.clone()).or_insert_with(|| Module::of(file))
    }

    fn define(&mut self, ahead: usize) {
        let Some(name) = self.word(ahead) else { return };
        let is_exported = self.tokens[..self.at].ends_with_words(&["macro_export", "]"]);
        if is_exported {
            self.graph.macros.insert(name.clone(), self.file);
        }
        self.own().defined.insert(name);
    }

    fn mention(&mut self, path: Path, import: Import) {
        self.graph.mentions.push(Mention { file: self.file, module: self.module.clone(), path, import });
    }

    /// The words at the reader that `::` joins; the reader is behind them.
    fn path(&mut self) -> Path {
        let is_rooted = self.at >= 2 && self.tokens[..self.at].ends_with_words(&[":", ":"]);
        let mut path = Path::new();
        let start = self.at;
        while let Some(word) = self.word(0) {
            path.push(word);
            self.at += 1;
            if !(self.next_is(0, ":") && self.next_is(1, ":")) {
                break;
            }
            self.at += 2;
        }
        if path.len() < 2 || is_rooted {
            self.at = start;
            path.clear();
        }
        path
    }

    /// A `use` item: the reader is behind it.
    fn import(&mut self) {
        let before = &self.tokens[..self.at];
        let is_public = before.last().is_some_and(|token| token.is("pub") || token.is(")"));
        self.at += 1;
        self.tree(&Path::new(), is_public);
        while self.tokens.get(self.at).is_some_and(|token| !token.is(";")) {
            self.at += 1;
        }
    }

    fn tree(&mut self, prefix: &[String], is_public: bool) {
        let mut path = prefix.to_vec();
        loop {
            if self.next_is(0, "{") {
                self.at += 1;
                while self.at < self.tokens.len() && !self.next_is(0, "}") {
                    self.tree(&path, is_public);
                    self.at += usize::from(self.next_is(0, ","));
                }
                self.at += 1;
                return;
            }
            if self.next_is(0, "*") {
                self.at += 1;
                self.own().globs.push(path.clone());
                return self.mention(path, Import::Glob);
            }
            let Some(word) = self.word(0) else {
                // A path from the root, `::name`, is of another crate.
                self.at += 1;
                if self.next_is(0, ";") || self.at >= self.tokens.len() {
                    return;
                }
                continue;
            };
            self.at += 1;
            if word != "self" || path.is_empty() {
                path.push(word);
            }
            if self.next_is(0, ":") && self.next_is(1, ":") {
                self.at += 2;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if self.next_is(0, "as") {
                name = self.word(1).unwrap_or_default();
                self.at += 2;
            }
            self.own().imported.insert(name.clone(), path.clone());
            return self.mention(path, if is_public { Import::Public(name) } else { Import::Used });
        }
    }
}

trait EndsWith {
    fn ends_with_words(&self, words: &[&str]) -> bool;
}

impl EndsWith for [Placed] {
    fn ends_with_words(&self, words: &[&str]) -> bool {
        self.len() >= words.len() && self[self.len() - words.len()..].iter().zip(words).all(|(t, w)| t.is(w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a -> b` for each use, in order of the files.
    fn printed(files: &[(&str, &str)]) -> Vec<String> {
        let owned: Vec<(String, String)> =
            files.iter().map(|(f, s)| (f.to_string(), s.to_string())).collect();
        let mut out = Vec::new();
        for (file, used) in uses(&owned).iter().enumerate() {
            out.extend(used.iter().map(|used| format!("{} -> {}", files[file].0, files[*used].0)));
        }
        out
    }

    #[test]
    fn a_declaration_is_no_use_and_tests_do_not_count() {
        let lib = "mod a;\npub mod b;\nuse other::Thing;\n#[cfg(test)]\nmod tests { use crate::a::A; }";
        assert_eq!(printed(&[("lib.rs", lib), ("a.rs", "pub struct A;"), ("b.rs", "")]), [""; 0]);
    }

    #[test]
    fn imports_and_paths_in_code_count() {
        let files = [
            ("lib.rs", "mod a; mod b; mod m;"),
            ("a.rs", "use crate::{b::{B, self as other}, m::n};\nfn f(x: B) { n::g() }"),
            ("b.rs", "pub struct B;\nfn f() { let x = crate::m::M; }"),
            ("m/mod.rs", "mod n;\npub struct M;\nfn f() { n::g(); }"),
            ("m/n.rs", "use super::super::a;\nuse super::M;\npub fn g() { a::f() }"),
        ];
        let expected = [
            "a.rs -> b.rs",
            "a.rs -> m/n.rs",
            "b.rs -> m/mod.rs",
            "m/mod.rs -> m/n.rs",
            "m/n.rs -> a.rs",
            "m/n.rs -> m/mod.rs",
        ];
        assert_eq!(printed(&files), expected);
    }

    #[test]
    fn re_exports_are_followed() {
        let files = [
            ("lib.rs", "mod m; mod user; pub use m::{One, Two as Zwei};"),
            ("m/mod.rs", "mod one; mod two;\npub use self::one::One;\npub use two::*;\npub trait Shared {}"),
            ("m/one.rs", "use super::Shared;\npub struct One;"),
            ("m/two.rs", "pub struct Two;"),
            ("user.rs", "use crate::{One, Zwei};\nuse crate::m;\nfn f(x: m::Two) {}"),
        ];
        let expected = ["m/one.rs -> m/mod.rs", "user.rs -> m/one.rs", "user.rs -> m/two.rs"];
        assert_eq!(printed(&files), expected);
    }

    #[test]
    fn a_re_export_that_the_file_needs_itself_is_a_use() {
        let files = [("lib.rs", "mod a;\npub use a::A;\nfn f() -> A {}"), ("a.rs", "pub struct A;")];
        assert_eq!(printed(&files), ["lib.rs -> a.rs"]);
    }

    #[test]
    fn modules_inside_of_a_file_are_the_file() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub mod inner { use super::Own; use super::super::b::B; }\nstruct Own;"),
            ("b.rs", "pub struct B;\nfn f() { crate::a::inner::g() }"),
        ];
        assert_eq!(printed(&files), ["a.rs -> b.rs", "b.rs -> a.rs"]);
    }

    #[test]
    fn exported_macros_are_where_they_are_defined() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "#[macro_export]\nmacro_rules! fail { () => {}; }"),
            ("b.rs", "use crate::fail;\nfn f() { fail!() }"),
        ];
        assert_eq!(printed(&files), ["b.rs -> a.rs"]);
    }
}
