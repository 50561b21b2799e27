//! Times of the published sampler of Joint.
//!
//! Arguments: k, epsilon and a number of draws. Counts come on standard input, between spaces. Prints the seconds of
//! each draw, one line each.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::time::Instant;

use dpsel_bench::joint_by_matrix::joint_by_matrix;
use dpsel_exact::random::ReleaseKey;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [k, epsilon, draws] = arguments.as_slice() else {
        return Err("needs k, epsilon and a number of draws".into());
    };
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let counts = text.split_whitespace().map(str::parse).collect::<Result<Vec<i64>, _>>()?;
    let (k, epsilon) = (k.parse()?, epsilon.parse()?);
    for number in 0..draws.parse::<u8>()? {
        let key = ReleaseKey::insecure_test([number; 32]);
        let start = Instant::now();
        joint_by_matrix(&counts, k, epsilon, &key)?;
        writeln!(stdout(), "{}", start.elapsed().as_secs_f64())?;
    }
    Ok(())
}
