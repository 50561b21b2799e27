//! The interner on one and on several threads.

use super::super::testing::Firsts;
use super::*;

/// Digests of small numbers: well mixed ones, and some that share their tags on purpose, so that buckets overflow at
/// both ends of the table.
fn digest(n: u128) -> Digest {
    let mixed = (n % 1997).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let tag = [0, 1, u32::MAX.into(), mixed & 0xffff_ffff, (mixed >> 40) & 0xffff_ffff][(n % 5) as usize];
    Digest(mixed & !0xffff_ffff | tag)
}

#[test]
fn equal_digests_get_equal_codes_and_their_own_record() {
    let sharding = Sharding::for_threads(2);
    let interner = Interner::new(sharding, Firsts::default);
    let mut seen = std::collections::BTreeMap::new();
    for batch in 0..20_usize {
        let digests: Vec<_> = (0..9000).map(|i| digest((batch * 37 + i) as u128)).collect();
        let mut codes = Vec::new();
        interner.intern(&digests, &(batch * 10_000), &mut ShardBuffers::default(), &mut codes).unwrap();
        for (row, (d, c)) in digests.iter().zip(codes).enumerate() {
            let first = seen.entry(*d).or_insert((c, batch * 10_000 + row));
            assert_eq!(first.0, c);
        }
    }
    let codes: std::collections::BTreeSet<_> = seen.values().map(|v| v.0).collect();
    assert_eq!(codes.len(), seen.len());
    let shards = interner.into_shards(2).unwrap();
    for (d, (code, first)) in seen {
        let (shard, local) = (&shards[sharding.shard_of_code(code)], sharding.local_of_code(code));
        assert_eq!(shard.digests()[local], d.0);
        assert_eq!(shard.records.0[local], first);
    }
}

#[test]
fn threads_agree_on_codes() {
    let interner = Interner::new(Sharding::for_threads(2), Firsts::default);
    let digests: Vec<_> = (0..5000).map(digest).collect();
    let all = crate::runtime::parallel::map(4, vec![0, 1, 2, 3], |_| {
        let mut codes = Vec::new();
        interner.intern(&digests, &0, &mut ShardBuffers::default(), &mut codes).unwrap();
        codes
    });
    assert!(all.windows(2).all(|w| w[0] == w[1]));
}
