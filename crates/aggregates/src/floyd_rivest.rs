//! Selection of the first `n` of a list, as Floyd and Rivest described it in 1975 (algorithm 489): which of equal elements are
//! among the first depends on each exchange, and the kernel's answers do.

/// From this many elements on the part to look at is narrowed down by a sample.
const SAMPLED: usize = 600;

/// Puts the first `n` elements in their order in front; the rest is behind them in any order.
pub fn partial_sort<T>(list: &mut [T], n: usize, comes_before: &mut impl FnMut(&T, &T) -> bool) {
    let n = n.min(list.len());
    if n == 0 {
        return;
    }
    select(list, 0, list.len() - 1, n - 1, comes_before);
    list[..n].sort_by(|a, b| match (comes_before(a, b), comes_before(b, a)) {
        (true, _) => std::cmp::Ordering::Less,
        (_, true) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    });
}

/// Puts the first `n` elements in front, in any order; the rest is behind them.
pub fn select_first<T>(list: &mut [T], n: usize, comes_before: &mut impl FnMut(&T, &T) -> bool) {
    if n < list.len() {
        select(list, 0, list.len() - 1, n, comes_before);
    }
}

/// Moves the element of rank `k` to its place between `left` and `right`, what comes before it to its left.
fn select<T>(
    list: &mut [T],
    mut left: usize,
    mut right: usize,
    k: usize,
    comes_before: &mut impl FnMut(&T, &T) -> bool,
) {
    while right > left {
        if right - left > SAMPLED {
            let (from, to) = sample(left, right, k);
            select(list, from, to, k, comes_before);
        }
        list.swap(left, k);
        // The pivot comes to the other end by the first exchange below.
        let pivot = if comes_before(&list[left], &list[right]) {
            list.swap(left, right);
            left
        } else {
            right
        };
        let (mut i, mut j) = (left, right);
        while i < j {
            list.swap(i, j);
            i += 1;
            j -= 1;
            while comes_before(&list[i], &list[pivot]) {
                i += 1;
            }
            while comes_before(&list[pivot], &list[j]) {
                j -= 1;
            }
        }
        if pivot == right {
            j += 1;
        }
        list.swap(pivot, j);
        if j <= k {
            left = j + 1;
        }
        if k <= j {
            match j.checked_sub(1) {
                Some(before) => right = before,
                None => return,
            }
        }
    }
}

/// Where the element of rank `k` is likely to be.
fn sample(left: usize, right: usize, k: usize) -> (usize, usize) {
    let (n, i) = ((right - left + 1) as f64, (k - left + 1) as f64);
    let z = n.ln();
    let s = 0.5 * (2.0 * z / 3.0).exp();
    let deviation = 0.5 * (z * s * (n - s) / n).sqrt();
    let deviation = if i < n / 2.0 { -deviation } else { deviation };
    let from = (k as f64 - i * s / n + deviation).max(left as f64);
    let to = (k as f64 + (n - i) * s / n + deviation).min(right as f64);
    (from as usize, to as usize)
}

#[cfg(test)]
mod tests {
    use super::partial_sort;

    #[test]
    fn the_first_come_in_front() {
        for len in [0usize, 1, 2, 5, 100, 2000] {
            for n in [0, 1, 3, 700, 3000] {
                let mut list: Vec<usize> = (0..len).map(|i| i * 7919 % 1013).collect();
                let mut sorted = list.clone();
                sorted.sort_unstable();
                partial_sort(&mut list, n, &mut |a, b| a < b);
                assert_eq!(list[..n.min(len)], sorted[..n.min(len)]);
            }
        }
    }

    #[test]
    fn equal_elements_are_exchanged() {
        let mut list = vec![(1, 'd'), (1, 'c'), (1, 'b'), (1, 'a')];
        partial_sort(&mut list, 3, &mut |a, b| a.0 > b.0);
        assert_eq!(list[..3], [(1, 'a'), (1, 'd'), (1, 'b')]);
    }
}
