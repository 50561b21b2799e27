//! What was written is read, nothing readable is on the disk, and damage is an error.

use std::path::Path;

use dpsel_exact::Error;
use proptest::prelude::*;

use super::file::{read_exact_at, write_all_at};
use super::*;

fn scratch(limit: Option<u64>) -> (tempfile::TempDir, Scratch) {
    let folder = tempfile::tempdir().unwrap();
    let space = ScratchSpace { folder: folder.path().into(), limit };
    (folder, Scratch::new(space).unwrap())
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn written(scratch: &Scratch, values: &[(i32, Vec<u8>)], most: usize) -> Stored {
    let spool = Spool::new(scratch).unwrap();
    let mut writer = spool.writer(most);
    for (label, value) in values {
        writer.push(*label, value).unwrap();
    }
    writer.flush().unwrap();
    spool.stored()
}

fn read(stored: &Stored) -> dpsel_exact::Result<Vec<(i32, Vec<u8>)>> {
    let mut value = Vec::new();
    (0..stored.values().len()).map(|at| Ok((stored.read(at, &mut value)?, value.clone()))).collect()
}

fn raw(stored: &Stored) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(stored.file().metadata().unwrap().len()).unwrap()];
    read_exact_at(stored.file(), &mut bytes, 0).unwrap();
    bytes
}

fn is_damaged<T: std::fmt::Debug>(result: &dpsel_exact::Result<T>) -> bool {
    matches!(result, Err(Error::File { action: "read scratch from", .. }))
}

fn values() -> impl Strategy<Value = Vec<(i32, Vec<u8>)>> {
    prop::collection::vec((-3..3, prop::collection::vec(any::<u8>(), 0..60)), 1..20)
}

proptest! {
    #[test]
    fn values_come_back_by_label(values in values(), most in 0_usize..200) {
        let (folder, scratch) = scratch(None);
        let stored = written(&scratch, &values, most);
        let mut expected = values;
        expected.sort_by_key(|(label, _)| *label);
        prop_assert_eq!(read(&stored).unwrap(), expected);
        prop_assert_eq!(files_in(folder.path()), 0);
    }

    /// Any changed bit is found by the block that it is in, and no other block suffers.
    #[test]
    fn a_changed_bit_is_an_error(values in values(), place: prop::sample::Index, bit in 0_u32..8) {
        let (_folder, scratch) = scratch(None);
        let stored = written(&scratch, &values, 50);
        let before = read(&stored).unwrap();
        let mut bytes = raw(&stored);
        let place = place.index(bytes.len());
        bytes[place] ^= 1_u8 << bit;
        write_all_at(stored.file(), &bytes, 0).unwrap();
        let mut value = Vec::new();
        let read: Vec<_> = (0..before.len()).map(|at| stored.read(at, &mut value).map(|_| value.clone())).collect();
        prop_assert_eq!(read.iter().filter(|value| value.is_err()).count(), 1);
        for (read, (_, before)) in read.into_iter().zip(before) {
            match read {
                Ok(value) => prop_assert_eq!(value, before),
                Err(error) => prop_assert!(is_damaged::<()>(&Err(error))),
            }
        }
    }

    #[test]
    fn a_shortened_file_is_an_error(values in values(), left: prop::sample::Index) {
        let (_folder, scratch) = scratch(None);
        let stored = written(&scratch, &values, 50);
        let len = stored.file().metadata().unwrap().len();
        stored.file().set_len(left.index(usize::try_from(len).unwrap()) as u64).unwrap();
        prop_assert!(is_damaged(&read(&stored)));
    }
}

#[test]
fn blocks_do_not_pass_for_each_other() {
    let (_folder, scratch) = scratch(None);
    let values = [(1, vec![7; 100]), (2, vec![8; 100])];
    let (stored, other) = (written(&scratch, &values, 0), written(&scratch, &values, 0));
    let (own, foreign) = (raw(&stored), raw(&other));
    let half = own.len() / 2;
    let swapped = [&own[half..], &own[..half]].concat();
    let repeated = [&own[..half], &own[..half]].concat();
    for bytes in [swapped, repeated, foreign] {
        write_all_at(stored.file(), &bytes, 0).unwrap();
        assert!(is_damaged(&read(&stored)));
    }
    write_all_at(stored.file(), &own, 0).unwrap();
    assert_eq!(read(&stored).unwrap(), values);
}

#[test]
fn nothing_readable_is_on_the_disk() {
    let (_folder, scratch) = scratch(None);
    let secret = b"an item that nobody may see".repeat(50);
    let stored = written(&scratch, &[(1, secret.clone()), (1, secret.clone())], 1 << 20);
    let bytes = raw(&stored);
    assert_eq!(bytes.len(), 2 * (secret.len() + 16));
    assert!(!bytes.windows(8).any(|window| secret.windows(8).take(27).any(|part| part == window)));
    // Equal contents look different, and no byte stands out.
    assert_ne!(bytes[..64], bytes[secret.len() + 16..][..64]);
    let mut times = [0; 256];
    for byte in &bytes {
        times[usize::from(*byte)] += 1;
    }
    assert!(times.iter().max() < Some(&40), "a byte occurs 11 times on average");
}

#[test]
fn two_jobs_have_different_keys() {
    let (_folders, scratches): (Vec<_>, Vec<_>) = (0..2).map(|_| scratch(None)).unzip();
    let bytes: Vec<Vec<u8>> =
        scratches.iter().map(|scratch| raw(&written(scratch, &[(1, vec![0; 64])], 0))).collect();
    assert_ne!(bytes[0], bytes[1]);
    assert_eq!(format!("{:?}", scratches[0]), "Scratch(..)");
}

#[test]
fn the_limit_counts_files_that_are_there() {
    let (_folder, scratch) = scratch(Some(1000));
    for _ in 0..3 {
        let stored = written(&scratch, &[(1, vec![0; 900])], 0);
        assert_eq!(scratch.used(), 916);
        drop(stored);
        assert_eq!(scratch.used(), 0);
    }
    let spool = Spool::new(&scratch).unwrap();
    let error = spool.writer(0).push(1, &[0; 990]).unwrap_err().to_string();
    assert!(error.contains("1000 bytes that scratch_limit allows"), "{error}");
}

fn part_of(values: &ValueStore, value: &StoredValue) -> dpsel_exact::Result<(Vec<u8>, Option<Vec<u8>>)> {
    let (mut fixed, mut changing) = (vec![9; 500], vec![9; 500]);
    let has_changed = values.read(value, &mut fixed, &mut changing)?;
    Ok((fixed, has_changed.then_some(changing)))
}

fn whole(file: &std::fs::File) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.metadata().unwrap().len()).unwrap()];
    read_exact_at(file, &mut bytes, 0).unwrap();
    bytes
}

proptest! {
    /// Parts of any lengths, written again and again: the last ones are read, also where they have grown.
    #[test]
    fn the_last_parts_are_read(
        rounds in prop::collection::vec((0_usize..3, any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..30),
    ) {
        let (folder, scratch) = scratch(None);
        let values = ValueStore::new(&scratch).unwrap();
        let mut expected: Vec<(Vec<u8>, Option<Vec<u8>>)> = vec![(vec![1; 40], None), (vec![], None), (vec![3; 9], None)];
        let mut all: Vec<StoredValue> = expected.iter().map(|(fixed, _)| values.add(&mut fixed.clone()).unwrap()).collect();
        for (at, is_fixed, part) in rounds {
            if is_fixed {
                values.write_fixed(&mut all[at], &mut part.clone()).unwrap();
                expected[at].0 = part;
            } else {
                values.write_changing(&mut all[at], &mut part.clone()).unwrap();
                expected[at].1 = Some(part);
            }
            let found: Vec<_> = all.iter().map(|value| part_of(&values, value).unwrap()).collect();
            prop_assert_eq!(&found, &expected);
        }
        prop_assert_eq!(files_in(folder.path()), 0);
    }
}

#[test]
fn a_part_that_was_replaced_does_not_come_back() {
    let (_folder, scratch) = scratch(None);
    let values = ValueStore::new(&scratch).unwrap();
    let (mut value, mut versions) = (values.add(&mut vec![5; 100]).unwrap(), Vec::new());
    for _ in 0..3 {
        values.write_changing(&mut value, &mut vec![7; 100]).unwrap();
        values.write_fixed(&mut value, &mut vec![5; 100]).unwrap();
        assert_eq!(part_of(&values, &value).unwrap(), (vec![5; 100], Some(vec![7; 100])));
        versions.push(values.files().map(whole));
    }
    // The same content in the same place: no keystream occurs twice, and no older version passes for the last one.
    for (which, file) in values.files().into_iter().enumerate() {
        assert_eq!(whole(file).len(), 116);
        let [first, second, last] = [0, 1, 2].map(|version: usize| versions[version][which].clone());
        assert!(first != second && second != last && first != last);
        for old in [first, second] {
            write_all_at(file, &old, 0).unwrap();
            assert!(is_damaged(&part_of(&values, &value)));
        }
        write_all_at(file, &last, 0).unwrap();
        assert!(part_of(&values, &value).is_ok());
    }
    // Two files do not pass for each other either.
    write_all_at(values.files()[0], &versions[2][1], 0).unwrap();
    assert!(is_damaged(&part_of(&values, &value)));
}

#[test]
fn parts_that_are_replaced_take_no_more_of_the_limit() {
    let (_folder, scratch) = scratch(Some(250));
    let values = ValueStore::new(&scratch).unwrap();
    let mut value = values.add(&mut vec![5; 100]).unwrap();
    for round in 0..20 {
        values.write_changing(&mut value, &mut vec![round; 100]).unwrap();
        assert_eq!(scratch.used(), 232);
    }
    assert!(values.write_changing(&mut value, &mut vec![0; 101]).is_err());
    drop(values);
    assert_eq!(scratch.used(), 0);
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let (folder, scratch) = scratch(None);
    let stored = written(&scratch, &[(1, vec![3; 10])], 0);
    let path = folder.path().to_owned();
    folder.close().unwrap();
    // What was written is still there, because the file never had a name.
    assert_eq!(read(&stored).unwrap(), [(1, vec![3; 10])]);
    let error = Spool::new(&scratch).unwrap_err().to_string();
    assert!(error.contains(&path.display().to_string()) && error.contains("scratch="), "{error}");
}

#[test]
fn several_threads_write_one_file() {
    let (_folder, scratch) = scratch(None);
    let spool = Spool::new(&scratch).unwrap();
    std::thread::scope(|scope| {
        for thread in 0_u8..4 {
            let spool = &spool;
            scope.spawn(move || {
                let mut writer = spool.writer(100);
                (0..200).for_each(|n| writer.push(n % 7, &[thread; 13]).unwrap());
                writer.flush().unwrap();
            });
        }
    });
    let mut times = [0; 4];
    for (_, value) in read(&spool.stored()).unwrap() {
        assert!(value.len() == 13 && value.iter().all(|byte| *byte == value[0]));
        times[usize::from(value[0])] += 1;
    }
    assert_eq!(times, [200; 4]);
}
