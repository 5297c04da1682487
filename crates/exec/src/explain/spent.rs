//! What a profile has found, by operators and the functions that they call.

use chalet_base::hash::HashMap;
use chalet_memory::profile::report::Report;
use chalet_memory::profile::{Cost, Frame, Kind};

/// Where something was spent: the innermost stage, the innermost operator in it, and the functions inside of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub stage: Option<Frame>,
    pub operator: Option<Frame>,
    pub functions: Vec<&'static str>,
    /// In it the thread waited for others.
    pub waits: bool,
}

impl Place {
    pub fn of(path: &[Frame]) -> Place {
        let stage_at = path.iter().rposition(|frame| frame.kind == Kind::Stage);
        let inside = stage_at.map_or(path, |at| &path[at + 1..]);
        let operator_at = inside.iter().rposition(|frame| frame.kind == Kind::Operator);
        let rest = operator_at.map_or(inside, |at| &inside[at + 1..]);
        Place {
            stage: stage_at.map(|at| path[at]),
            operator: operator_at.map(|at| inside[at]),
            functions: rest.iter().filter(|f| f.kind == Kind::Function).map(|f| f.name).collect(),
            waits: rest.iter().any(|frame| frame.kind == Kind::Wait),
        }
    }
}

/// Of one operator of one stage.
#[derive(Clone, Default)]
pub struct OperatorCost {
    /// With its functions, without what operators behind it spend.
    pub cost: Cost,
    /// Threads waited for others while it ran.
    pub waiting_ns: u64,
    /// The functions that it calls itself, with what those call.
    pub functions: Vec<(&'static str, Cost)>,
}

/// All of it.
pub struct Spent {
    /// Places with what was spent there, those of the same place once.
    pub places: Vec<(Place, Cost)>,
    /// By the ids of stage and operator.
    pub operators: HashMap<(usize, usize), OperatorCost>,
    /// Wall time of all places but those that wait.
    pub wall_ns: u64,
    pub cpu_ns: u64,
    pub allocated_bytes: u64,
}

impl Spent {
    pub fn of(report: &Report) -> Spent {
        let mut spent = Spent {
            places: Vec::new(),
            operators: HashMap::default(),
            wall_ns: 0,
            cpu_ns: 0,
            allocated_bytes: 0,
        };
        for (at, node) in report.tree.0.iter().enumerate() {
            let place = Place::of(&report.tree.path(at as u32));
            spent.add(place, &node.cost);
        }
        spent
    }

    fn add(&mut self, place: Place, cost: &Cost) {
        if !place.waits {
            self.wall_ns += cost.wall_ns;
        }
        self.cpu_ns += cost.cpu_ns;
        self.allocated_bytes += cost.allocated_bytes;
        if let (Some(stage), Some(operator)) = (place.stage, place.operator) {
            let entry = self.operators.entry((stage.id, operator.id)).or_default();
            if place.waits {
                entry.waiting_ns += cost.wall_ns;
            } else {
                let mut cost = *cost;
                if let Some(&function) = place.functions.first() {
                    (cost.rows, cost.blocks, cost.bytes) = (0, 0, 0);
                    match entry.functions.iter_mut().find(|(name, _)| *name == function) {
                        Some((_, sum)) => sum.add(&cost),
                        None => entry.functions.push((function, cost)),
                    }
                    cost.calls = 0;
                }
                entry.cost.add(&cost);
            }
        }
        match self.places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, sum)) => sum.add(cost),
            None => self.places.push((place, *cost)),
        }
    }

    /// What an operator spent.
    pub fn operator(&self, stage: usize, operator: usize) -> OperatorCost {
        self.operators.get(&(stage, operator)).cloned().unwrap_or_default()
    }
}
