//! The lowest free number of a pool. For this room alone.

use std::ops::RangeInclusive;

use proto::MachineId;

use super::SiteNetwork;
use crate::{
    Timestamp,
    store::{NumberPool, StoreError, Tx},
};

/// Why a pool gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// All its numbers are held.
    #[error("the site's {pool} pool {first}-{last} is used up: widen it in the site file")]
    UsedUp {
        /// Which pool.
        pool: &'static str,
        /// First number of the pool.
        first: u32,
        /// Last number of the pool.
        last: u32,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Lowest number of `range` that is not in `taken`, which rises.
fn lowest_free(range: &RangeInclusive<u32>, taken: &[u32]) -> Option<u32> {
    let mut candidate = *range.start();
    for &number in taken.iter().skip_while(|number| *number < range.start()) {
        if number != candidate {
            break;
        }
        candidate = candidate.checked_add(1)?;
    }
    range.contains(&candidate).then_some(candidate)
}

/// Finds the number that `owner` is to get from a pool. Numbers in `also_taken` count as held.
pub(super) async fn next_number(
    tx: &mut Tx,
    pool: NumberPool,
    range: &RangeInclusive<u32>,
    also_taken: &[u32],
) -> Result<u32, PoolError> {
    let mut taken = tx.numbers_taken(pool).await?;
    taken.extend_from_slice(also_taken);
    taken.sort_unstable();
    taken.dedup();
    lowest_free(range, &taken).ok_or(PoolError::UsedUp {
        pool: match pool {
            NumberPool::Vni => "VNI",
            NumberPool::Vlan => "VLAN",
            NumberPool::Asn => "AS number",
        },
        first: *range.start(),
        last: *range.end(),
    })
}

/// The AS number of a DPU, in a site with routed VPCs; given now if it has none.
///
/// # Errors
/// If the pool is used up or the database fails.
pub async fn give_asn(
    tx: &mut Tx,
    site: &SiteNetwork,
    dpu: &MachineId,
    now: Timestamp,
) -> Result<Option<u32>, PoolError> {
    let Some(routed) = &site.routed else { return Ok(None) };
    if let Some(asn) = tx.number_of(NumberPool::Asn, dpu.as_str()).await? {
        return Ok(Some(asn));
    }
    let asn = next_number(tx, NumberPool::Asn, &routed.asns, &[]).await?;
    tx.claim_number(NumberPool::Asn, asn, dpu.as_str(), now).await?;
    Ok(Some(asn))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::Store;

    #[test]
    fn the_lowest_free_number_is_next() {
        for (range, taken, next) in [
            (5..=8, vec![], Some(5)),
            (5..=8, vec![5, 6], Some(7)),
            (5..=8, vec![6], Some(5)),
            (5..=8, vec![1, 2, 5, 7, 9], Some(6)),
            (5..=8, vec![5, 6, 7, 8], None),
            (u32::MAX..=u32::MAX, vec![u32::MAX], None),
        ] {
            assert_eq!(lowest_free(&range, &taken), next, "{range:?} {taken:?}");
        }
    }

    proptest! {
        #[test]
        fn a_pool_gives_each_number_once_until_it_is_used_up(start in 0_u32..100, size in 1_u32..40) {
            let range = start..=start + size - 1;
            let mut taken = Vec::new();
            while let Some(number) = lowest_free(&range, &taken) {
                prop_assert!(range.contains(&number) && !taken.contains(&number));
                taken.push(number);
                taken.sort_unstable();
            }
            prop_assert_eq!(taken.len(), size as usize);
        }
    }

    #[tokio::test]
    async fn a_used_up_pool_says_which_and_where_to_widen_it() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        let mut tx = store.write().await.unwrap();
        for (owner, number) in [("a", 16), ("b", 17)] {
            assert_eq!(next_number(&mut tx, NumberPool::Vlan, &(16..=17), &[]).await.unwrap(), number);
            tx.claim_number(NumberPool::Vlan, number, owner, Timestamp::from_micros(1)).await.unwrap();
        }
        let error = next_number(&mut tx, NumberPool::Vlan, &(16..=17), &[]).await.unwrap_err();
        assert_eq!(error.to_string(), "the site's VLAN pool 16-17 is used up: widen it in the site file");
    }
}
