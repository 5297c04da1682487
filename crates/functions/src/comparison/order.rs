//! The six comparisons, as data and on orderings.

use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

impl Order {
    /// Does it hold for two values? Values without an order (NaN) are not equal, and nothing else.
    #[inline(always)]
    pub fn holds(self, ordering: Option<Ordering>) -> bool {
        match self {
            Order::Equal => ordering == Some(Ordering::Equal),
            Order::NotEqual => ordering != Some(Ordering::Equal),
            Order::Less => ordering == Some(Ordering::Less),
            Order::Greater => ordering == Some(Ordering::Greater),
            Order::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
            Order::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        }
    }

    /// The comparison of the two sides in the other order.
    pub fn swapped(self) -> Order {
        match self {
            Order::Less => Order::Greater,
            Order::Greater => Order::Less,
            Order::LessOrEqual => Order::GreaterOrEqual,
            Order::GreaterOrEqual => Order::LessOrEqual,
            same => same,
        }
    }

    /// The comparison without equality: what the first differing element of two tuples must satisfy.
    pub fn strict(self) -> Order {
        match self {
            Order::LessOrEqual => Order::Less,
            Order::GreaterOrEqual => Order::Greater,
            same => same,
        }
    }
}
