//! Many rows: frequent keys and small integers, which are not digested again, are what they would be if they were.

use dpsel_exact::random::{DigestBatch, Digester, KeyKind, Purpose};

use super::*;

const ROWS: u64 = 60_000;

/// Numbers of which a few are frequent and many are rare.
fn skewed(seed: u64) -> Vec<u64> {
    let mix =
        |i: u64| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d);
    (0..ROWS).map(|i| mix(i) % [10, 300, 9000, 1 << 22][(mix(i) >> 40) as usize % 4]).collect()
}

fn digests(texts: &[Option<&str>], integers: &[i64], purpose: Purpose) -> Vec<Digest> {
    let digester = Digester::new(&ReleaseKey::insecure_test([1; 32]), purpose);
    let mut out = Vec::new();
    digester.integers(KeyKind::Integer, integers.iter().map(|&v| v.into()), &mut out);
    let texts = texts.iter().flatten().map(|text| text.as_bytes());
    digester.bytes(KeyKind::Text, texts, &mut DigestBatch::default(), &mut out);
    out
}

fn agrees(users: &[i64], items: ArrayRef, item_digests: Vec<Digest>) {
    let expected: BTreeSet<_> =
        digests(&[], users, Purpose::UserDigest).into_iter().zip(item_digests).collect();
    assert_eq!(ok(ints(users), vec![items]).0.rows, expected);
}

#[test]
fn integers() {
    // Small ones, negative ones, and multiples of a large power of two, which only their upper bits tell apart.
    for scale in [1, -1, 1 << 40] {
        let items: Vec<i64> = skewed(1).iter().map(|n| n.cast_signed() * scale).collect();
        let users: Vec<i64> = skewed(2).iter().map(|n| n.cast_signed() * scale).collect();
        let expected = digests(&[], &items, Purpose::ItemDigest);
        agrees(&users, ints(&items), expected.clone());
        let mut grouped: Vec<_> = users.into_iter().zip(items).collect();
        grouped.sort_unstable();
        let (users, items): (Vec<_>, Vec<_>) = grouped.into_iter().unzip();
        agrees(&users, ints(&items), digests(&[], &items, Purpose::ItemDigest));
    }
}

#[test]
fn texts_of_one_block_and_of_several() {
    let users: Vec<i64> = (0..ROWS.cast_signed()).map(|row| row / 7).collect();
    let names: Vec<String> =
        skewed(3).iter().map(|n| "x".repeat((n % 15) as usize) + &n.to_string()).collect();
    let texts: Vec<_> = names.iter().map(|name| Some(name.as_str())).collect();
    let expected = digests(&texts, &[], Purpose::ItemDigest);
    agrees(&users, Arc::new(StringArray::from(texts.clone())), expected.clone());
    agrees(&users, Arc::new(StringViewArray::from(texts)), expected);
}
