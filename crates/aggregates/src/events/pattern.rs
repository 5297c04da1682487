//! The patterns of `sequenceMatch`: `(?1).*(?t<=10)(?2)`.

use chalet_base::{Result, bail, ensure, err};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An event that meets a condition, by number from 0.
    Condition(usize),
    /// Any event.
    Any,
    /// Any number of events.
    Star,
    /// How the time since the event before compares.
    Time(Compare, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
}

/// An event: its time and which conditions it meets.
pub type Event = (u64, u32);

pub fn parse(name: &str, pattern: &str, n_conditions: usize) -> Result<Vec<Step>> {
    // Events before the match are passed over.
    let mut steps = vec![Step::Star];
    let mut rest = pattern;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("(?") {
            let (inside, after) = after.split_once(')').ok_or_else(|| malformed(name, pattern))?;
            steps.push(match inside.strip_prefix('t') {
                Some(time) => time_step(time).ok_or_else(|| malformed(name, pattern))?,
                None => {
                    let number: usize = inside.parse().map_err(|_| malformed(name, pattern))?;
                    ensure!(
                        (1..=n_conditions).contains(&number),
                        BAD_ARGUMENTS,
                        "Event number {number} is out of range"
                    );
                    Step::Condition(number - 1)
                }
            });
            rest = after;
        } else if let Some(after) = rest.strip_prefix(".*") {
            steps.push(Step::Star);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            steps.push(Step::Any);
            rest = after;
        } else if rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            rest = &rest[1..];
        } else {
            bail!(SYNTAX_ERROR, "Malformed pattern '{pattern}' at '{rest}'");
        }
    }
    Ok(steps)
}

fn malformed(name: &str, pattern: &str) -> chalet_base::Error {
    err!(SYNTAX_ERROR, "Malformed pattern '{pattern}' of aggregate function {name}")
}

fn time_step(text: &str) -> Option<Step> {
    let kinds = [
        ("<=", Compare::LessOrEqual),
        (">=", Compare::GreaterOrEqual),
        ("==", Compare::Equal),
        ("<", Compare::Less),
        (">", Compare::Greater),
    ];
    kinds.into_iter().find_map(|(sign, compare)| {
        text.strip_prefix(sign).and_then(|n| n.parse().ok()).map(|n| Step::Time(compare, n))
    })
}

/// Steps of a search after which it is given up, as in the kernel.
const MAX_STEPS: usize = 1_000_000;

/// Where the first match in `events[start..]` ends.
pub fn find(steps: &[Step], events: &[Event], start: usize) -> Result<Option<usize>> {
    search(steps, events, start, |_, _| {})
}

/// The positions of the events that meet the conditions of the first match; where none is complete, of the first of the
/// longest matches that were begun.
pub fn longest_chain(steps: &[Step], events: &[Event]) -> Result<Vec<usize>> {
    let (mut chain, mut longest) = (Vec::new(), Vec::new());
    let end = search(steps, events, 0, |n, at| {
        chain.truncate(n);
        chain.push(at);
        if chain.len() > longest.len() {
            longest.clone_from(&chain);
        }
    })?;
    Ok(if end.is_some() { chain } else { longest })
}

/// Where the first match ends. `meets(n, at)` is called for each event that meets a condition: its position, and how many
/// events of the match so far met the conditions before; those beyond were given up.
fn search(
    steps: &[Step],
    events: &[Event],
    start: usize,
    mut meets: impl FnMut(usize, usize),
) -> Result<Option<usize>> {
    let (mut step, mut at, mut base) = (0, start, start);
    // For each step, the conditions before it.
    let n_before: Vec<usize> = steps
        .iter()
        .scan(0, |n, step| {
            let before = *n;
            *n += usize::from(matches!(step, Step::Condition(_)));
            Some(before)
        })
        .collect();
    let mut choices: Vec<(usize, usize, usize)> = Vec::new();
    let mut n_steps = 0;
    while step < steps.len() && at < events.len() {
        n_steps += 1;
        ensure!(
            n_steps <= MAX_STEPS,
            TOO_SLOW,
            "Pattern application proves too difficult, exceeding max iterations ({MAX_STEPS})"
        );
        let (time, met) = events[at];
        let passed = || time.saturating_sub(events[base].0);
        let forward = match steps[step] {
            Step::Condition(i) if met >> i & 1 == 1 => {
                meets(n_before[step], at);
                base = at;
                at += 1;
                true
            }
            Step::Condition(_) => false,
            Step::Any => {
                base = at;
                at += 1;
                true
            }
            Step::Star => {
                choices.push((step, at, base));
                base = at;
                true
            }
            Step::Time(compare, limit) => {
                let holds = match compare {
                    Compare::LessOrEqual => passed() <= limit,
                    Compare::Less => passed() < limit,
                    Compare::GreaterOrEqual => passed() >= limit,
                    Compare::Greater => passed() > limit,
                    Compare::Equal => passed() == limit,
                };
                if holds {
                    choices.push((step, at, base));
                    base = at;
                } else if matches!(compare, Compare::GreaterOrEqual | Compare::Greater) {
                    // A later event may be late enough.
                    at += 1;
                    if at < events.len() {
                        continue;
                    }
                }
                holds
            }
        };
        if forward {
            step += 1;
            continue;
        }
        // Back to the last choice, one event later.
        loop {
            match choices.pop() {
                None => return Ok(None),
                Some((s, a, b)) if a + 1 < events.len() => {
                    (step, at, base) = (s, a + 1, b);
                    break;
                }
                Some(_) => {}
            }
        }
    }
    let open = steps[step..].iter().all(|step| *step == Step::Star);
    Ok(open.then_some(at))
}
