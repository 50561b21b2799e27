//! Buckets that no thread could hold.

use super::*;

/// So small a limit that all buckets have to be divided.
#[test]
fn divided_buckets_make_the_release_of_memory() {
    let rows = some_rows(400);
    for mechanism in &MECHANISMS {
        let memory = Memory { limit: 150_000, stage: 75_000, buckets: 2, ..little(2000, 2) };
        assert!(memory.divided(8000, WEIGHED).buckets > 2);
        let request = request(mechanism, From::Integers, 9, 3.0);
        assert!(same(&rows, From::Integers, &request, memory) > 0, "{mechanism}");
    }
}
