//! Numbers that are linear in time, and when a comparison of them flips. Used to compute when to evaluate a host again.

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Compare {
    #[inline]
    pub(crate) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Less => left < right,
            Self::LessEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterEqual => left >= right,
        }
    }

    /// The range of numbers for which the comparison with `number` holds; empty (least above most) if there are none.
    pub(crate) fn range(self, number: i64) -> (i64, i64) {
        let nothing = (1, 0);
        match self {
            Self::Equal => (number, number),
            Self::LessEqual => (i64::MIN, number),
            Self::GreaterEqual => (number, i64::MAX),
            Self::Less => number.checked_sub(1).map_or(nothing, |most| (i64::MIN, most)),
            Self::Greater => number.checked_add(1).map_or(nothing, |least| (least, i64::MAX)),
        }
    }
}

/// A number that is linear in time: its value now, and its change each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) now: i64,
    pub(crate) slope: i64,
}

impl Line {
    pub(crate) fn flat(now: i64) -> Self {
        Self { now, slope: 0 }
    }

    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        Some(Self { now: self.now.checked_sub(other.now)?, slope: self.slope.checked_sub(other.slope)? })
    }

    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Some(Self { now: self.now.checked_add(other.now)?, slope: self.slope.checked_add(other.slope)? })
    }

    pub(crate) fn times(self, factor: i64) -> Option<Self> {
        Some(Self { now: self.now.checked_mul(factor)?, slope: self.slope.checked_mul(factor)? })
    }

    /// Seconds until `self compare 0` changes.
    pub(crate) fn flip(self, compare: Compare) -> Option<i64> {
        let Self { now, slope } = if self.slope < 0 { self.times(-1)? } else { self };
        if slope == 0 {
            return None;
        }
        // With a rising line the order relations change once: where it reaches zero, or where it leaves it.
        let reaches = (now < 0).then(|| now.unsigned_abs().div_ceil(slope.unsigned_abs()));
        let leaves = (now <= 0).then(|| now.unsigned_abs() / slope.unsigned_abs() + 1);
        let mirrored = self.slope < 0;
        let seconds = match (compare, mirrored) {
            (Compare::GreaterEqual | Compare::Less, false) | (Compare::LessEqual | Compare::Greater, true) => reaches,
            (Compare::Greater | Compare::LessEqual, false) | (Compare::Less | Compare::GreaterEqual, true) => leaves,
            (Compare::Equal, _) => {
                if now == 0 {
                    Some(1)
                } else {
                    reaches
                }
            }
        };
        seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_flips_where_its_line_crosses_zero() {
        use Compare::*;
        let compares = [Less, LessEqual, Greater, GreaterEqual, Equal];
        for slope in -3_i64..=3 {
            for now in -20_i64..=20 {
                for compare in compares {
                    let holds = |t: i64| {
                        let value = now + slope * t;
                        match compare {
                            Less => value < 0,
                            LessEqual => value <= 0,
                            Greater => value > 0,
                            GreaterEqual => value >= 0,
                            Equal => value == 0,
                        }
                    };
                    let flip = Line { now, slope }.flip(compare);
                    let seen = (1..100).find(|t| holds(*t) != holds(0));
                    match (flip, seen) {
                        (Some(flip), Some(seen)) => {
                            assert!(flip <= seen, "{now}+{slope}t {compare:?}: {flip} > {seen}")
                        }
                        (None, Some(seen)) => panic!("{now}+{slope}t {compare:?} flips after {seen}"),
                        (Some(_), None) if compare == Equal => {}
                        (Some(flip), None) => panic!("{now}+{slope}t {compare:?} never flips, said {flip}"),
                        (None, None) => {}
                    }
                    if let (Some(flip), Some(seen), false) = (flip, seen, compare == Equal) {
                        assert_eq!(flip, seen, "{now}+{slope}t {compare:?}");
                    }
                }
            }
        }
    }
}
