//! The parts of a table: snapshots for readers, changes one after the other, and who may replace which part.

use super::change::Change;
use super::columns::ColumnsVersion;
use super::journal::{Follower, Journal};
use super::part::{Part, PartInfo};
use super::part_file::number_of;
use super::projection;
use super::skip_index::{is_unfinished, parse_file_name};
use super::tokens::Tokens;
use crate::disk::{TableFolder, fs};
use crate::insert::changed_meanwhile;
use chalet_base::events::{Event, count};
use chalet_base::hash::HashSet;
use chalet_base::{Error, Result, bail, codes, err};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

/// A journal is written anew when it is longer than this, and than twice what it still says.
const LEAST_TO_COMPACT: u64 = 1 << 20;
/// So many versions of columns are kept in any case.
const RECENT_VERSIONS: usize = 8;
/// How often a reader looks again at what another process has changed meanwhile.
const ATTEMPTS: usize = 100;

/// The parts at some moment.
#[derive(Clone, Default)]
pub struct State {
    /// By partition and block.
    pub parts: Vec<Arc<Part>>,
    /// Those that were taken away by DETACH PARTITION, in that order.
    pub detached: Vec<Arc<Part>>,
    /// All versions of columns, ascending; the last is that of new parts.
    pub versions: Vec<Arc<ColumnsVersion>>,
    tokens: Tokens,
    /// The next INSERT's.
    next_block: u64,
}

impl State {
    /// Rows of all parts.
    pub fn n_rows(&self) -> u64 {
        self.parts.iter().map(|part| part.info.rows).sum()
    }

    /// Bytes of all parts.
    pub fn n_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.info.bytes).sum()
    }

    /// Some parts alone, as a table of their own.
    pub(super) fn of_parts(&self, wanted: impl Fn(&Part) -> bool) -> State {
        let parts = self.parts.iter().filter(|part| wanted(part)).cloned().collect();
        State { parts, versions: self.versions.clone(), next_block: self.next_block, ..State::default() }
    }

    fn apply(&mut self, change: &Change) {
        for version in &change.columns {
            let place = self.versions.partition_point(|known| known.number < version.number);
            if self.versions.get(place).is_none_or(|known| known.number != version.number) {
                self.versions.insert(place, version.clone());
            }
        }
        self.tokens.follow(&self.parts, change);
        if !change.removed.is_empty() {
            let removed: HashSet<u64> = change.removed.iter().copied().collect();
            self.parts.retain(|part| !removed.contains(&part.info.number));
        }
        for part in &change.added {
            self.next_block = self.next_block.max(part.info.max_block + 1);
            let key = |part: &Part| (part.info.partition.id.clone(), part.info.min_block, part.info.number);
            let place = self.parts.partition_point(|other| key(other) <= key(part));
            self.parts.insert(place, part.clone());
        }
        for (changes, has) in [(&change.projected, true), (&change.unprojected, false)] {
            for (number, key) in changes {
                let known = self.parts.iter().chain(&self.detached).find(|part| part.info.number == *number);
                match known {
                    Some(part) if has => part.projections.declare(*key),
                    Some(part) => part.projections.withdraw(*key),
                    None => {}
                }
            }
        }
        // Behind those that come: a journal that is written anew has all parts first.
        for number in &change.detached {
            if let Some(at) = self.parts.iter().position(|part| part.info.number == *number) {
                self.detached.push(self.parts.remove(at));
            }
        }
        self.detached.retain(|part| !change.dropped_detached.contains(&part.info.number));
    }

    /// The versions of columns that a journal which is written anew is sure to have: old ones that no part has are left out,
    /// but for some, since the definition of the table may be about to follow.
    fn kept_versions(&self) -> impl Iterator<Item = &Arc<ColumnsVersion>> {
        let used: HashSet<u32> =
            self.parts.iter().chain(&self.detached).map(|part| part.info.columns).collect();
        let recent = self.versions.len().saturating_sub(RECENT_VERSIONS);
        let kept = self.versions.iter().enumerate();
        kept.filter(move |(at, version)| *at >= recent || used.contains(&version.number))
            .map(|(_, version)| version)
    }

    /// Says again which columns the added parts have, where the journal may have left that out since they were begun.
    fn repeat_columns(&self, change: &mut Change) {
        for part in &change.added {
            let number = part.info.columns;
            let is_newest = self.versions.last().is_some_and(|last| last.number == number);
            if !is_newest
                && !change.columns.iter().any(|version| version.number == number)
                && !self.kept_versions().any(|version| version.number == number)
            {
                change.columns.push(part.columns.clone());
            }
        }
    }

    /// All that the state says, as one change.
    fn as_change(&self) -> Change {
        let all = || self.parts.iter().chain(&self.detached);
        Change {
            columns: self.kept_versions().cloned().collect(),
            added: all().cloned().collect(),
            detached: self.detached.iter().map(|part| part.info.number).collect(),
            tokens: self.tokens.iter().cloned().collect(),
            ..Change::default()
        }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.as_change().encode(&mut out)?;
        Ok(out)
    }
}

/// The parts of one table, shared by its handles, scans and inserters.
pub struct Parts {
    folder: Option<Arc<TableFolder>>,
    /// What this process writes; `None` in memory, and where another one does.
    journal: Option<Mutex<Journal>>,
    /// What another process has written, where this one may only read: so it is in a forked child too.
    follower: Mutex<(Follower, State)>,
    /// Errors: the journal is damaged.
    state: RwLock<Result<Arc<State>>>,
    queue: Mutex<Queue>,
    turn: Condvar,
    claims: Mutex<Claims>,
    /// Held while the definition is changed.
    altering: Mutex<()>,
    released: Condvar,
    /// SYSTEM STOP MERGES.
    are_merges_stopped: AtomicBool,
    are_ttl_merges_stopped: AtomicBool,
    next_number: AtomicU64,
    /// Of parts and of changes of columns.
    next_mutation: AtomicU64,
    /// Snapshots that statements hold where another process may remove files.
    held: Mutex<Vec<std::sync::Weak<State>>>,
    /// Since the table was opened.
    mutations: Mutex<VecDeque<MutationRecord>>,
}

/// A mutation that is done.
#[derive(Clone, Debug)]
pub struct MutationRecord {
    pub number: u64,
    /// As SQL, in parentheses.
    pub command: String,
    pub created: SystemTime,
    pub finished: SystemTime,
}

/// So many last mutations are remembered, as in the kernel.
const MOST_MUTATIONS: usize = 100;

/// Changes that wait to be written. Who comes first writes them all at once (group commit).
#[derive(Default)]
struct Queue {
    waiting: Vec<(u64, Change)>,
    next_ticket: u64,
    /// Tickets that are done, with what went wrong.
    done: Vec<(u64, Result<()>)>,
    is_led: bool,
}

/// Parts that somebody is about to replace.
#[derive(Default)]
struct Claims {
    parts: HashSet<u64>,
    /// So many want parts that are claimed: merges are to give up.
    impatient: usize,
    /// Merges under way that nobody asked for.
    merges: usize,
}

impl Parts {
    /// The parts of a new table.
    pub fn create(columns: ColumnsVersion, folder: Option<Arc<TableFolder>>) -> Result<Parts> {
        let state = State { versions: vec![Arc::new(columns)], next_block: 1, ..State::default() };
        let journal = match &folder {
            None => None,
            Some(folder) => Some(Journal::create(folder.clone(), &state.encode()?)?),
        };
        Ok(Parts::of(folder, journal, Ok(state), 1))
    }

    /// The parts of a folder, and how many bytes were dropped of a change that was not finished. A damaged journal is no error
    /// here, but whenever it is used: the table can still be dropped.
    pub fn open(folder: Arc<TableFolder>) -> Result<(Parts, u64)> {
        if folder.is_read_only() {
            return Ok((Parts::of(Some(folder), None, Ok(State::default()), 0), 0));
        }
        let opened = Journal::open(folder.clone()).and_then(|(journal, found)| {
            let mut state = State { next_block: 1, ..State::default() };
            for record in &found.records {
                let change = Change::decode(record, &state.versions, Some(&folder))?;
                change.added.iter().for_each(|part| part.keep());
                state.apply(&change);
            }
            let next = remove_leftovers(&folder, &state)?;
            Ok((journal, state, next, found.dropped))
        });
        Ok(match opened {
            Ok((journal, state, next, dropped)) => {
                (Parts::of(Some(folder), Some(journal), Ok(state), next), dropped)
            }
            Err(error) => (Parts::of(Some(folder), None, Err(error), 0), 0),
        })
    }

    fn of(
        folder: Option<Arc<TableFolder>>,
        journal: Option<Journal>,
        state: Result<State>,
        next_number: u64,
    ) -> Parts {
        let last = state.as_ref().map_or(0, |s| s.parts.iter().map(|p| p.info.mutation).max().unwrap_or(0));
        Parts {
            folder,
            journal: journal.map(Mutex::new),
            follower: Mutex::default(),
            state: RwLock::new(state.map(Arc::new)),
            queue: Mutex::default(),
            turn: Condvar::new(),
            claims: Mutex::default(),
            altering: Mutex::default(),
            released: Condvar::new(),
            are_merges_stopped: AtomicBool::new(false),
            are_ttl_merges_stopped: AtomicBool::new(false),
            next_number: AtomicU64::new(next_number.max(1)),
            next_mutation: AtomicU64::new(last + 1),
            held: Mutex::default(),
            mutations: Mutex::default(),
        }
    }

    /// Makes a version of the columns that of new parts, if it is not.
    pub fn settle_columns(&self, version: &Arc<ColumnsVersion>) -> Result<Arc<ColumnsVersion>> {
        let state = self.snapshot()?;
        let last = state.versions.last().map_or(0, |last| last.number);
        let is_settled = version.number == last && version.definition == 0;
        if is_settled || self.check_writable().is_err() {
            return Ok(version.clone());
        }
        let columns = version.columns.clone();
        let again = Arc::new(ColumnsVersion { number: last + 1, columns, definition: 0 });
        self.commit(Change { columns: vec![again.clone()], ..Change::default() })?;
        Ok(again)
    }

    /// The folder, of a table on disk.
    pub fn folder(&self) -> Option<&Arc<TableFolder>> {
        self.folder.as_ref()
    }

    /// Fails where nothing may be written.
    pub fn check_writable(&self) -> Result<()> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.check_writable())
    }

    /// A number for a new part.
    pub fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Relaxed)
    }

    /// A number for a new mutation.
    pub fn next_mutation(&self) -> u64 {
        self.next_mutation.fetch_add(1, Relaxed)
    }

    /// Remembers a mutation that is done.
    pub fn note_mutation(&self, done: MutationRecord) {
        let mut mutations = lock(&self.mutations);
        mutations.push_back(done);
        if mutations.len() > MOST_MUTATIONS {
            mutations.pop_front();
        }
    }

    /// Those that are remembered.
    pub fn mutations(&self) -> Vec<MutationRecord> {
        lock(&self.mutations).iter().cloned().collect()
    }

    /// Does another process write the table? So it is in a forked child.
    fn is_followed(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.is_read_only())
    }

    /// The parts as they are now. Fails when the journal is damaged or cannot be read.
    pub fn snapshot(&self) -> Result<Arc<State>> {
        match self.is_followed() {
            true => self.follow().or_else(|error| self.held_instead(error)),
            false => self.state.read().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Where another process may remove files: keeps what there is now readable until what this gives is dropped.
    pub fn hold(&self) -> Result<Option<Arc<State>>> {
        if !self.is_followed() {
            return Ok(None);
        }
        let state = self.follow()?;
        let mut held = lock(&self.held);
        held.retain(|other| other.strong_count() > 0);
        held.push(Arc::downgrade(&state));
        Ok(Some(state))
    }

    /// What a statement holds of a table that was removed meanwhile.
    fn held_instead(&self, error: Error) -> Result<Arc<State>> {
        if error.code() != codes::FILE_DOESNT_EXIST {
            return Err(error);
        }
        lock(&self.held).iter().rev().find_map(std::sync::Weak::upgrade).ok_or(error)
    }

    /// Looks at what another process has written meanwhile.
    fn follow(&self) -> Result<Arc<State>> {
        let Some(folder) = &self.folder else { bail!(LOGICAL_ERROR, "A table in memory has one process") };
        let mut known = lock(&self.follower);
        for attempt in 1.. {
            let (follower, state) = &mut *known;
            let news = follower.read(folder)?;
            if news.is_anew {
                // What is open stays open.
                let before = std::mem::take(state);
                let apply = |record: &Vec<u8>| {
                    let mut change = Change::decode(record, &state.versions, Some(folder))?;
                    for part in &mut change.added {
                        if let Some(same) = before.parts.iter().find(|known| known.is_same_file(part)) {
                            *part = same.clone();
                        }
                    }
                    state.apply(&change);
                    Ok(())
                };
                news.records.iter().try_for_each(apply)?;
            } else {
                for record in &news.records {
                    let change = Change::decode(record, &state.versions, Some(folder))?;
                    state.apply(&change);
                }
            }
            let mut now = state.clone();
            for record in &news.tentative {
                now.apply(&Change::decode(record, &now.versions, Some(folder))?);
            }
            match now.parts.iter().try_for_each(|part| part.hold()) {
                Ok(()) => return Ok(Arc::new(now)),
                // It was merged since the journal was read.
                Err(error) if attempt < ATTEMPTS && error.code() == codes::FILE_DOESNT_EXIST => {}
                Err(error) => return Err(error),
            }
        }
        bail!(LOGICAL_ERROR, "A journal was never read")
    }

    /// Puts the names of files on disk that were written beside parts.
    pub fn sync_names(&self) -> Result<()> {
        self.folder.as_ref().map_or(Ok(()), |folder| crate::disk::durable::sync_folder(folder.path()))
    }

    /// Makes a change. When this returns it is on disk and seen by later snapshots, or nothing of it is.
    ///
    /// Added parts of INSERTs have `min_block` 0: they get the next number. Fails with CANNOT_ASSIGN_OPTIMIZE, and changes
    /// nothing, where a part that is to go is not there.
    pub fn commit(&self, change: Change) -> Result<()> {
        self.check_writable()?;
        let mut queue = lock(&self.queue);
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push((ticket, change));
        loop {
            if let Some(at) = queue.done.iter().position(|(done, _)| *done == ticket) {
                return queue.done.swap_remove(at).1;
            }
            if queue.is_led {
                queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.is_led = true;
            let waiting = std::mem::take(&mut queue.waiting);
            drop(queue);
            let done = self.write(waiting);
            queue = lock(&self.queue);
            queue.is_led = false;
            queue.done.extend(done);
            self.turn.notify_all();
        }
    }

    /// Writes changes, all with one write to the disk.
    fn write(&self, waiting: Vec<(u64, Change)>) -> Vec<(u64, Result<()>)> {
        let before = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
        let before = match before {
            Ok(state) => state,
            Err(error) => {
                return waiting.into_iter().map(|(ticket, _)| (ticket, Err(error.clone()))).collect();
            }
        };
        let mut state = State::clone(&before);
        let (mut records, mut done, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for (ticket, mut change) in waiting {
            let prepared = prepare(&mut change, &mut state, &mut removed).and_then(|()| {
                state.repeat_columns(&mut change);
                let mut record = Vec::new();
                change.encode(&mut record)?;
                Ok(record)
            });
            match prepared {
                Ok(record) => {
                    state.apply(&change);
                    records.push((ticket, record, change));
                }
                Err(error) => done.push((ticket, Err(error))),
            }
        }
        let kept = match &self.journal {
            Some(journal) => self.write_records(&mut lock(journal), &records, &state),
            None => Ok(()),
        };
        if kept.is_ok() {
            for (_, _, change) in &records {
                change.added.iter().for_each(|part| part.keep());
            }
            *self.state.write().unwrap_or_else(PoisonError::into_inner) = Ok(Arc::new(state));
            removed.iter().for_each(|part| part.forget());
        }
        done.extend(records.into_iter().map(|(ticket, ..)| (ticket, kept.clone())));
        done
    }

    fn write_records(
        &self,
        journal: &mut Journal,
        records: &[(u64, Vec<u8>, Change)],
        state: &State,
    ) -> Result<()> {
        let has_files = |change: &Change| change.added.iter().any(|part| part.resident().is_none());
        if let Some(folder) = &self.folder
            && records.iter().any(|(_, _, change)| has_files(change))
        {
            // The names of files, before the journal has them.
            crate::disk::durable::sync_folder(folder.path())?;
        }
        let bytes: Vec<Vec<u8>> = records.iter().map(|(_, record, _)| record.clone()).collect();
        journal.append(&bytes)?;
        let all = || state.parts.iter().chain(&state.detached);
        let resident = all().filter(|part| part.resident().is_some());
        let live: u64 = resident.map(|part| part.info.bytes + 64).sum::<u64>() + 64 * all().count() as u64;
        if journal.len() > LEAST_TO_COMPACT.max(2 * live) {
            // The changes are acknowledged already, and another attempt follows.
            count(Event::MergeTreeJournalRewrites);
            let _ = state.encode().and_then(|content| journal.replace(&content));
        }
        Ok(())
    }

    /// Claims parts for a merge in the background, so that nobody else replaces them; `None` where somebody does already, and
    /// while merges are stopped.
    pub fn claim_to_merge(self: &Arc<Parts>, numbers: &[u64]) -> Option<Claim> {
        let mut claims = lock(&self.claims);
        let is_stopped = claims.impatient > 0 || self.are_merges_stopped.load(Relaxed);
        if is_stopped || numbers.iter().any(|number| claims.parts.contains(number)) {
            return None;
        }
        claims.parts.extend(numbers);
        claims.merges += 1;
        Some(Claim { parts: self.clone(), numbers: numbers.to_vec(), is_merge: true })
    }

    /// Claims all parts that `wanted` names, and waits for those that have them; they give up soon.
    pub fn claim_all(
        self: &Arc<Parts>,
        wanted: impl Fn(&PartInfo) -> bool,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<(Claim, Vec<Arc<Part>>)> {
        let mut claims = lock(&self.claims);
        claims.impatient += 1;
        let claimed = loop {
            let state = match self.snapshot().and_then(|state| check().map(|()| state)) {
                Ok(state) => state,
                Err(error) => break Err(error),
            };
            let parts: Vec<Arc<Part>> = state.parts.iter().filter(|p| wanted(&p.info)).cloned().collect();
            let numbers: Vec<u64> = parts.iter().map(|part| part.info.number).collect();
            if !numbers.iter().any(|number| claims.parts.contains(number)) {
                claims.parts.extend(&numbers);
                break Ok((Claim { parts: self.clone(), numbers, is_merge: false }, parts));
            }
            let wait = self.released.wait_timeout(claims, std::time::Duration::from_millis(50));
            claims = wait.unwrap_or_else(PoisonError::into_inner).0;
        };
        claims.impatient -= 1;
        claimed
    }

    /// Should a merge give up what it has claimed, because others wait for it or merges were stopped?
    pub fn should_give_up(&self) -> bool {
        self.are_merges_stopped.load(Relaxed) || lock(&self.claims).impatient > 0
    }

    /// Whether parts are merged in the background. One that is under way gives up at its next block, or is done when this returns:
    /// nothing changes then that nobody asked for.
    pub fn set_merges_stopped(&self, are_stopped: bool, check: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut claims = lock(&self.claims);
        self.are_merges_stopped.store(are_stopped, Relaxed);
        while are_stopped && claims.merges > 0 {
            check()?;
            let wait = self.released.wait_timeout(claims, std::time::Duration::from_millis(50));
            claims = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Whether merges leave alone what has expired.
    pub fn are_ttl_merges_stopped(&self) -> bool {
        self.are_ttl_merges_stopped.load(Relaxed)
    }

    /// Whether merges apply TTL.
    pub fn set_ttl_merges_stopped(&self, are_stopped: bool) {
        self.are_ttl_merges_stopped.store(are_stopped, Relaxed);
    }

    /// Definitions are changed one after the other: nobody else does so until this is dropped.
    pub fn altering(&self) -> MutexGuard<'_, ()> {
        lock(&self.altering)
    }

    /// Which of these parts somebody is about to replace.
    pub fn claimed(&self) -> HashSet<u64> {
        lock(&self.claims).parts.clone()
    }
}

/// The right to replace some parts, until it is dropped.
pub struct Claim {
    parts: Arc<Parts>,
    numbers: Vec<u64>,
    is_merge: bool,
}

impl Claim {
    /// The parts, by number.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = lock(&self.parts.claims);
        for number in &self.numbers {
            claims.parts.remove(number);
        }
        claims.merges -= usize::from(self.is_merge);
        self.parts.released.notify_all();
    }
}

/// Numbers the parts of an INSERT, and finds those that go.
fn prepare(change: &mut Change, state: &mut State, removed: &mut Vec<Arc<Part>>) -> Result<()> {
    if leave_out_known(change, state) {
        return Ok(());
    }
    let found: Vec<Arc<Part>> =
        state.parts.iter().filter(|part| change.removed.contains(&part.info.number)).cloned().collect();
    let is_there = |number: &u64| state.parts.iter().any(|part| part.info.number == *number);
    if found.len() != change.removed.len() || !change.detached.iter().all(is_there) {
        return Err(changed_meanwhile());
    }
    let dropped = state.detached.iter().filter(|part| change.dropped_detached.contains(&part.info.number));
    let dropped: Vec<Arc<Part>> = dropped.cloned().collect();
    if dropped.len() != change.dropped_detached.len() {
        return Err(changed_meanwhile());
    }
    removed.extend(dropped);
    removed.extend(found);
    for part in &mut change.added {
        if part.info.min_block == 0 {
            let block = state.next_block;
            state.next_block += 1;
            let Some(part) = Arc::get_mut(part) else {
                bail!(LOGICAL_ERROR, "A part is read before it is there")
            };
            (part.info.min_block, part.info.max_block) = (block, block);
        }
    }
    for (token, part) in change.tokens.iter_mut().zip(&change.added) {
        token.block = part.info.min_block;
    }
    Ok(())
}

/// Leaves out parts of an INSERT that were made before; were all of them?
fn leave_out_known(change: &mut Change, state: &State) -> bool {
    let tokens = std::mem::take(&mut change.tokens);
    if tokens.is_empty() {
        return false;
    }
    for (token, part) in tokens.into_iter().zip(std::mem::take(&mut change.added)) {
        if state.tokens.has(&token, change.token_window.saturating_sub(change.tokens.len())) {
            count(Event::DuplicatedInsertedBlocks);
        } else {
            change.tokens.push(token);
            change.added.push(part);
        }
    }
    change.added.is_empty()
}

/// Removes files that the journal does not name, and fails where one that it names is missing. Returns the next number.
fn remove_leftovers(folder: &TableFolder, state: &State) -> Result<u64> {
    let all = state.parts.iter().chain(&state.detached);
    let named: HashSet<u64> = all.map(|part| part.info.number).collect();
    let mut last = named.iter().copied().max().unwrap_or(0);
    let mut files: HashSet<u64> = HashSet::default();
    let found = fs::read_folder(folder.path())
        .map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot read folder {}: {e}", folder.path().display()))?;
    for entry in found {
        let path = folder.path().join(&entry.name);
        let Some(name) = entry.name.to_str() else { continue };
        if let Some((part, key)) = parse_file_name(name) {
            last = last.max(part);
            let all = state.parts.iter().chain(&state.detached);
            match all.filter(|known| known.info.number == part).map(|part| part.indexes.found(key)).next() {
                Some(()) => {}
                None => _ = fs::remove_file(&path),
            }
        }
        if is_unfinished(name) || projection::is_unfinished(name) {
            let _ = fs::remove_file(&path);
        }
        last = last.max(find_projection(name, &path, state));
        let Some(number) = number_of(name) else { continue };
        last = last.max(number);
        match named.contains(&number) {
            true => _ = files.insert(number),
            false => _ = fs::remove_file(&path),
        }
    }
    for part in state.parts.iter().chain(&state.detached) {
        part.projections.remove_unfinished(folder, part.info.number);
    }
    for part in &state.parts {
        if part.resident().is_none() && !files.contains(&part.info.number) {
            bail!(
                NO_FILE_IN_DATA_PART,
                "Part {} is damaged: the file {} is missing",
                part.info.name(),
                super::part_file::path_of(folder, part.info.number).display()
            );
        }
    }
    Ok(last + 1)
}

/// Tells a part of a file of one of its projections, and removes that of no part. Returns the last number in its name.
fn find_projection(name: &str, path: &std::path::Path, state: &State) -> u64 {
    let (number, key, attempt) = match (projection::parse_rows_name(name), projection::parse_file_name(name))
    {
        (Some((number, key, attempt)), _) => (number, key, Some(attempt)),
        (None, Some((number, key))) => (number, key, None),
        (None, None) => return 0,
    };
    let mut all = state.parts.iter().chain(&state.detached);
    match (all.find(|part| part.info.number == number), attempt) {
        (Some(part), Some(attempt)) => part.projections.found_rows(key, attempt),
        (Some(part), None) => part.projections.found(key),
        (None, _) => _ = fs::remove_file(path),
    }
    number.max(attempt.unwrap_or(0))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn stopping_merges_waits_for_those_under_way() {
        let parts = Arc::new(Parts::create(ColumnsVersion::first([]), None).expect("parts"));
        let merge = parts.claim_to_merge(&[]).expect("nothing is claimed");
        let asked = Cell::new(0);
        let give_up = || {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Ok(()) } else { bail!(QUERY_WAS_CANCELLED, "Query was cancelled") }
        };
        // It asks whether to go on while it waits.
        let error = parts.set_merges_stopped(true, &give_up).expect_err("the merge is under way");
        assert_eq!((error.code(), asked.get()), (codes::QUERY_WAS_CANCELLED, 3));
        assert!(parts.should_give_up());
        drop(merge);
        parts.set_merges_stopped(true, &|| bail!(LOGICAL_ERROR, "nothing to wait for")).expect("stopped");
        assert!(parts.claim_to_merge(&[]).is_none(), "merges are stopped");
        parts.set_merges_stopped(false, &|| Ok(())).expect("started");
        assert!(parts.claim_to_merge(&[]).is_some());
    }
}
