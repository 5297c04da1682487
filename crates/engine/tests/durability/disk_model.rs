//! What a disk may hold after a power cut, by the calls that were made until then.
//!
//! Bytes and the length of a file are sure to be there once the file was synced, names in a folder once the folder was. Of what
//! came later each sector of 512 bytes, each change of a length and each change of a name may be there or not, whatever the order;
//! a rename is there as a whole or not at all.

use crate::place::Random;
use chalet_storage::disk::fs::observe::Observer;
use chalet_storage::disk::fs::{Access, Action};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const SECTOR: usize = 512;

/// A call that changes something. Paths are relative to the folder that is observed.
#[derive(Clone)]
pub enum Call {
    Open(PathBuf, Access, u64),
    Write(u64, u64, Vec<u8>),
    SetLen(u64, u64),
    Sync(u64),
    CreateFolder(PathBuf),
    SyncFolder(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// Writes down the calls below a folder.
pub struct Recorder {
    base: PathBuf,
    calls: Mutex<Vec<Call>>,
}

impl Recorder {
    pub fn new(base: &Path) -> Recorder {
        Recorder { base: base.to_path_buf(), calls: Mutex::default() }
    }

    pub fn len(&self) -> usize {
        self.calls.lock().expect("no panic").len()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("no panic").clone()
    }
}

impl Observer for Recorder {
    fn before(&self, _: &Path, _: &Action) -> io::Result<()> {
        Ok(())
    }

    fn after(&self, path: &Path, action: &Action) {
        let relative = |path: &Path| path.strip_prefix(&self.base).expect("below").to_path_buf();
        let here = || relative(path);
        let call = match *action {
            Action::Open(access, number) => Call::Open(here(), access, number),
            Action::Write(number, offset, bytes) => Call::Write(number, offset, bytes.to_vec()),
            Action::SetLen(number, len) => Call::SetLen(number, len),
            Action::Sync(number) => Call::Sync(number),
            Action::CreateFolder => Call::CreateFolder(here()),
            Action::SyncFolder => Call::SyncFolder(here()),
            Action::Rename(to) => Call::Rename(here(), relative(to)),
            Action::Link(_) => unreachable!("no script freezes"),
            Action::RemoveFile | Action::RemoveFolder => Call::Remove(here()),
            Action::Read | Action::Map | Action::Metadata | Action::ReadFolder => return,
        };
        self.calls.lock().expect("no panic").push(call);
    }
}

#[derive(Clone)]
enum Edit {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

fn write_at(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    content.resize(content.len().max(offset + bytes.len()), 0);
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

#[derive(Clone, Default)]
struct FileNode {
    synced: Vec<u8>,
    edits: Vec<Edit>,
    now: Vec<u8>,
}

impl FileNode {
    fn edit(&mut self, edit: Edit) {
        match &edit {
            Edit::Write(offset, bytes) => write_at(&mut self.now, *offset as usize, bytes),
            Edit::SetLen(len) => self.now.resize(*len as usize, 0),
        }
        self.edits.push(edit);
    }

    fn after_cut(&self, luck: Luck, random: &mut Random) -> Vec<u8> {
        let mut content = self.synced.clone();
        let mut lucky = luck.begin(self.edits.len(), random);
        for edit in &self.edits {
            let is_whole = lucky.next(random);
            match edit {
                Edit::SetLen(len) if is_whole => content.resize(*len as usize, 0),
                Edit::SetLen(_) => {}
                Edit::Write(offset, bytes) if is_whole => write_at(&mut content, *offset as usize, bytes),
                Edit::Write(offset, bytes) if luck == Luck::Any && random.flip() => {
                    let (mut at, end) = (*offset as usize, *offset as usize + bytes.len());
                    while at < end {
                        let next = ((at / SECTOR + 1) * SECTOR).min(end);
                        if random.flip() {
                            write_at(
                                &mut content,
                                at,
                                &bytes[at - *offset as usize..next - *offset as usize],
                            );
                        }
                        at = next;
                    }
                }
                Edit::Write(..) => {}
            }
        }
        content
    }
}

type Names = BTreeMap<OsString, usize>;

#[derive(Clone, Default)]
struct FolderNode {
    synced: Names,
    edits: Vec<Vec<(OsString, Option<usize>)>>,
    now: Names,
}

fn change(names: &mut Names, edit: &[(OsString, Option<usize>)]) {
    for (name, node) in edit {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}

#[derive(Clone)]
enum Node {
    File(FileNode),
    Folder(FolderNode),
}

/// How much of what was not synced is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Luck {
    Nothing,
    Everything,
    /// The first edits of each file and folder.
    Begin,
    Any,
}

impl Luck {
    fn begin(self, n: usize, random: &mut Random) -> Lucky {
        Lucky { luck: self, left: if self == Luck::Begin { random.below(n + 1) } else { 0 } }
    }
}

struct Lucky {
    luck: Luck,
    left: usize,
}

impl Lucky {
    fn next(&mut self, random: &mut Random) -> bool {
        match self.luck {
            Luck::Nothing => false,
            Luck::Everything => true,
            Luck::Any => random.flip(),
            Luck::Begin => {
                let is_there = self.left > 0;
                self.left = self.left.saturating_sub(1);
                is_there
            }
        }
    }
}

/// A disk with what is sure to be on it, and what may be.
#[derive(Clone)]
pub struct Disk {
    /// The first is the folder that is observed.
    nodes: Vec<Node>,
    opened: HashMap<u64, usize>,
}

impl Disk {
    /// A disk on which all is synced that is in a folder.
    pub fn of(folder: &Path) -> Disk {
        let mut disk = Disk { nodes: Vec::new(), opened: HashMap::new() };
        disk.read(folder);
        disk
    }

    fn read(&mut self, path: &Path) -> usize {
        let number = self.nodes.len();
        if path.is_dir() {
            self.nodes.push(Node::Folder(FolderNode::default()));
            for entry in fs::read_dir(path).expect("a folder") {
                let entry = entry.expect("a file");
                let node = self.read(&entry.path());
                let Node::Folder(folder) = &mut self.nodes[number] else { unreachable!("it was made here") };
                folder.synced.insert(entry.file_name(), node);
                folder.now.insert(entry.file_name(), node);
            }
        } else {
            let synced = fs::read(path).expect("a file");
            self.nodes.push(Node::File(FileNode { now: synced.clone(), synced, edits: Vec::new() }));
        }
        number
    }

    fn folder(&mut self, path: &Path) -> &mut FolderNode {
        let number = self.find(path).unwrap_or_else(|| panic!("no folder {}", path.display()));
        match &mut self.nodes[number] {
            Node::Folder(folder) => folder,
            Node::File(_) => panic!("{} is a file", path.display()),
        }
    }

    fn find(&self, path: &Path) -> Option<usize> {
        path.iter().try_fold(0, |node, name| match &self.nodes[node] {
            Node::Folder(folder) => folder.now.get(name).copied(),
            Node::File(_) => None,
        })
    }

    fn file(&mut self, number: u64) -> Option<&mut FileNode> {
        // A file that was opened before it was observed is none that is kept: the lock.
        match &mut self.nodes[*self.opened.get(&number)?] {
            Node::File(file) => Some(file),
            Node::Folder(_) => None,
        }
    }

    fn edit(&mut self, path: &Path, node: Option<usize>) {
        let edit = vec![(path.file_name().expect("a name").to_os_string(), node)];
        let folder = self.folder(path.parent().expect("a folder"));
        change(&mut folder.now, &edit);
        folder.edits.push(edit);
    }

    fn make(&mut self, path: &Path, node: Node) -> usize {
        self.nodes.push(node);
        let number = self.nodes.len() - 1;
        self.edit(path, Some(number));
        number
    }

    /// A call that was made.
    pub fn apply(&mut self, call: &Call) {
        match call {
            Call::Open(path, access, number) => {
                let node = match self.find(path) {
                    Some(node) => node,
                    None => self.make(path, Node::File(FileNode::default())),
                };
                self.opened.insert(*number, node);
                if let (Access::Create, Some(file)) = (access, self.file(*number))
                    && !file.now.is_empty()
                {
                    file.edit(Edit::SetLen(0));
                }
            }
            Call::Write(number, offset, bytes) => {
                if let Some(file) = self.file(*number) {
                    file.edit(Edit::Write(*offset, bytes.clone()));
                }
            }
            Call::SetLen(number, len) => {
                if let Some(file) = self.file(*number) {
                    file.edit(Edit::SetLen(*len));
                }
            }
            Call::Sync(number) => {
                if let Some(file) = self.file(*number) {
                    file.synced.clone_from(&file.now);
                    file.edits.clear();
                }
            }
            Call::CreateFolder(path) => {
                self.make(path, Node::Folder(FolderNode::default()));
            }
            Call::SyncFolder(path) => {
                let folder = self.folder(path);
                folder.synced.clone_from(&folder.now);
                folder.edits.clear();
            }
            Call::Rename(from, to) => {
                assert_eq!(from.parent(), to.parent());
                let node = self.find(from).expect("the file");
                let name = |path: &Path| path.file_name().expect("a name").to_os_string();
                let edit = vec![(name(from), None), (name(to), Some(node))];
                let folder = self.folder(from.parent().expect("a folder"));
                change(&mut folder.now, &edit);
                folder.edits.push(edit);
            }
            Call::Remove(path) => {
                let inside: Vec<OsString> = match self.find(path).map(|node| &self.nodes[node]) {
                    Some(Node::Folder(folder)) => folder.now.keys().cloned().collect(),
                    _ => Vec::new(),
                };
                inside.iter().for_each(|name| self.edit(&path.join(name), None));
                self.edit(path, None);
            }
        }
    }

    /// Makes a folder of what there is when the power goes now.
    pub fn cut(&self, to: &Path, random: &mut Random) {
        let luck = [Luck::Nothing, Luck::Everything, Luck::Begin, Luck::Any][random.below(4)];
        self.write(0, to, Some(luck), random);
    }

    /// Makes a folder of what there is when only the process goes.
    pub fn kill(&self, to: &Path) {
        self.write(0, to, None, &mut Random(0));
    }

    fn write(&self, node: usize, to: &Path, luck: Option<Luck>, random: &mut Random) {
        match &self.nodes[node] {
            Node::File(file) => {
                let content = match luck {
                    Some(luck) => file.after_cut(luck, random),
                    None => file.now.clone(),
                };
                fs::write(to, content).expect("written");
            }
            Node::Folder(folder) => {
                fs::create_dir_all(to).expect("a folder");
                let mut names = if luck.is_some() { folder.synced.clone() } else { folder.now.clone() };
                if let Some(luck) = luck {
                    let mut lucky = luck.begin(folder.edits.len(), random);
                    let there = folder.edits.iter().filter(|_| lucky.next(random));
                    there.for_each(|edit| change(&mut names, edit));
                }
                for (name, node) in names {
                    self.write(node, &to.join(name), luck, random);
                }
            }
        }
    }
}
