//! Blind changes of a valid input, for the short search of the ordinary tests; libFuzzer has its own.

/// Numbers that formats trip over, as bytes of either order.
const TELLING: [u64; 6] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, u64::MAX];

/// The input after a few changes, which a number determines.
#[must_use]
pub fn mutated(input: &[u8], other: &[u8], seed: u64) -> Vec<u8> {
    let mut source = Source(seed);
    let mut bytes = input.to_vec();
    for _ in 0..=source.below(4) {
        change(&mut bytes, other, &mut source);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], source: &mut Source) {
    let at = source.below(bytes.len());
    let end = bytes.len().min(at + 1 + source.below(32));
    match source.below(7) {
        0 => bytes[at..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
        1 => {
            let value = TELLING[source.below(TELLING.len())].to_le_bytes();
            let width = [1, 2, 4, 8][source.below(4)];
            bytes[at..].iter_mut().zip(&value[..width]).for_each(|(byte, new)| *byte = *new);
        }
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        5 if !other.is_empty() => {
            let from = source.below(other.len());
            let to = other.len().min(from + 1 + source.below(64));
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ => bytes.insert(at, source.next().to_le_bytes()[0]),
    }
}

/// `SplitMix64`: nothing here is secret.
struct Source(u64);

impl Source {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `limit`, or 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_determines_the_changes_and_most_of_them_differ() {
        let input = b"user,item\na,b\n".as_slice();
        let found: std::collections::BTreeSet<_> =
            (0..200).map(|seed| mutated(input, b"xyz", seed)).collect();
        assert!(found.len() > 150);
        assert!((0..200).all(|seed| mutated(input, b"xyz", seed) == mutated(input, b"xyz", seed)));
        assert!((0..200).all(|seed| mutated(b"", b"", seed).len() < 10));
    }
}
