//! Which kinds of nodes a plan has: rules about others are passed by.

use chalet_plan::Plan;

/// A set of kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeKinds(u16);

impl NodeKinds {
    pub const FILTER: NodeKinds = NodeKinds(1);
    pub const JOIN: NodeKinds = NodeKinds(1 << 1);
    pub const AGGREGATE: NodeKinds = NodeKinds(1 << 2);
    pub const SORT: NodeKinds = NodeKinds(1 << 3);
    pub const LIMIT: NodeKinds = NodeKinds(1 << 4);
    pub const LIMIT_BY: NodeKinds = NodeKinds(1 << 5);
    pub const DISTINCT: NodeKinds = NodeKinds(1 << 6);
    pub const WINDOW: NodeKinds = NodeKinds(1 << 7);
    pub const MERGE_ROWS: NodeKinds = NodeKinds(1 << 8);
    /// Kinds that no rule is about alone.
    pub const OTHER: NodeKinds = NodeKinds(1 << 9);
    pub const ANY: NodeKinds = NodeKinds(u16::MAX);

    /// The kinds of the nodes of a plan. Queries in expressions are not part of it, as for the rules.
    pub fn of(plan: &Plan) -> NodeKinds {
        let own = match plan {
            Plan::Filter(_) => NodeKinds::FILTER,
            Plan::Join(_) => NodeKinds::JOIN,
            Plan::Aggregate(_) => NodeKinds::AGGREGATE,
            Plan::Sort(_) => NodeKinds::SORT,
            Plan::Limit(_) => NodeKinds::LIMIT,
            Plan::LimitBy(_) => NodeKinds::LIMIT_BY,
            Plan::Distinct(_) => NodeKinds::DISTINCT,
            Plan::Window(_) => NodeKinds::WINDOW,
            Plan::MergeRows(_) => NodeKinds::MERGE_ROWS,
            _ => NodeKinds::OTHER,
        };
        plan.inputs().into_iter().fold(own, |kinds, input| kinds.or(NodeKinds::of(input)))
    }

    pub const fn or(self, other: NodeKinds) -> NodeKinds {
        NodeKinds(self.0 | other.0)
    }

    pub fn meets(self, other: NodeKinds) -> bool {
        self.0 & other.0 != 0
    }
}
