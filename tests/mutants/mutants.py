"""The planted bugs. Each is one replacement of a text that occurs exactly once in its file."""

from __future__ import annotations

from dataclasses import dataclass

REFERENCE = "tests/differential/test_reference.py"
LAW1 = "tests/conformance/test_law1_one_meaning.py"
LAW2 = "tests/conformance/test_law2_randomness.py"
LAW3 = "tests/conformance/test_law3_sensitivity.py"
LAW4 = "tests/conformance/test_law4_decisions.py"
STEERED = "tests/conformance/test_steered.py"
GREEDY = "tests/conformance/test_greedy.py"
CURVES = "tests/conformance/test_release_curves.py"
CURVE_RELEASES = CURVES + "::test_releases_are_those_of_the_table"
POLICY_CURVES = "tests/conformance/test_curves_on_policies.py"
LAW5 = "tests/conformance/test_law5_only_the_release.py"
TABLES = "tests/known_answers/test_dp_sips_tables.py"
DUPLICATES = "tests/counterexamples/test_duplicates.py"
NOISE = "tests/statistical/test_noise.py"
TOP_K = "tests/conformance/test_top_k_laws.py"
FREQUENCY = "tests/statistical/test_release_frequency.py"


@dataclass(frozen=True)
class Mutant:
    """One planted bug, and the tests of which at least one must fail.

    A test is a file for pytest, or `cargo:` and a filter for the unit tests of the core: for what no
    caller can see, because one integer unit of weight is a change of delta by a billionth.
    """

    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]


CORE = "rust/core/src/"

MUTANTS = [
    Mutant(
        "weights rounded up (L1)",
        CORE + "weighting/mod.rs",
        "Self::EqualL1 => UNIT / k,",
        "Self::EqualL1 => UNIT.div_ceil(k),",
        (REFERENCE, LAW3),
    ),
    Mutant(
        "weights rounded up (L2)",
        CORE + "weighting/mod.rs",
        "Self::EqualL2 | Self::PolicyL2(_) | Self::Mad(_) => ((UNIT * UNIT) / k).isqrt(),",
        "Self::EqualL2 | Self::PolicyL2(_) | Self::Mad(_) => ((UNIT * UNIT) / k).isqrt() + 1,",
        (REFERENCE, LAW3),
    ),
    Mutant(
        "weight of a user with one item less",
        CORE + "weighting/histogram.rs",
        "(weights.get(items.len()), ",
        "(weights.get(items.len().saturating_sub(1).max(1)), ",
        (REFERENCE, LAW3),
    ),
    Mutant(
        "sampling keyed by item only",
        CORE + "random/words.rs",
        "let chain = encrypt_one(&self.0, user.0);",
        "let chain = encrypt_one(&self.0, user.0 & 0);",
        (REFERENCE, "tests/statistical/test_bounding.py"),
    ),
    Mutant(
        "sampling by position instead of priority",
        CORE + "bounding/mod.rs",
        "keyed[..first].sort_unstable();",
        "let _ = keyed.is_sorted();",
        (LAW1, REFERENCE),
    ),
    Mutant(
        "bound off by one",
        CORE + "bounding/mod.rs",
        "lens[user].min(self.bound)",
        "lens[user].min(self.bound + 1)",
        (REFERENCE, LAW3),
    ),
    Mutant(
        "largest priorities kept",
        CORE + "bounding/mod.rs",
        "keyed[..first].sort_unstable();",
        "keyed[..first].sort_unstable_by(|a, b| b.cmp(a));",
        (REFERENCE,),
    ),
    Mutant(
        "released items stay in the sets",
        CORE + "bounding/mod.rs",
        "to += usize::from(!released.contains(ItemCode(item)));",
        "to += usize::from(!released.contains(ItemCode(item)) || true);",
        (REFERENCE, LAW5),
    ),
    Mutant(
        "no re-bounding after a round",
        CORE + "bounding/mod.rs",
        "        *user.ordered = u32::try_from(first).unwrap_or(u32::MAX);",
        """        *user.len = u32::try_from(first.min(self.bound)).unwrap_or(u32::MAX);
        *user.ordered = *user.len;""",
        (REFERENCE,),
    ),
    Mutant(
        "a reserve is not ordered again",
        CORE + "bounding/mod.rs",
        "|| *user.ordered as usize >= self.bound",
        "|| *user.ordered > 0",
        ("cargo:bounding",),
    ),
    Mutant(
        "frequent keys known by their place alone",
        CORE + "ingest/frequent.rs",
        "(self.blocks[place] == block, self.codes[place])",
        "(self.blocks[place] != Block::NONE, self.codes[place])",
        ("cargo:ingest", LAW1),
    ),
    Mutant(
        "small integers of all kinds are one",
        CORE + "ingest/frequent.rs",
        "if self.kind.replace(kind) != Some(kind) {",
        "if self.kind.replace(kind).is_none() {",
        ("cargo:ingest",),
    ),
    Mutant(
        "keys with one tag are one key",
        CORE + "contributions/shard.rs",
        "alike.find(|local| digests[*local as usize] == key.0)",
        "alike.find(|local| digests[*local as usize] == key.0 || true)",
        ("cargo:interner",),
    ),
    Mutant(
        "the same noise in every round",
        CORE + "threshold/rounds.rs",
        "Words::new(key, Purpose::Noise, index)",
        "Words::new(key, Purpose::Noise, index * 0)",
        (REFERENCE, "tests/statistical/test_release_frequency.py"),
    ),
    Mutant(
        "rounds counted from one",
        CORE + "threshold/rounds.rs",
        "Words::new(key, Purpose::Noise, index)",
        "Words::new(key, Purpose::Noise, index + 1)",
        (REFERENCE,),
    ),
    Mutant(
        "duplicates are not dropped",
        CORE + "contributions/order.rs",
        "Self::Any => seen.keep_first(items),",
        "Self::Any => seen.keep_first(items).max(items.len() as u32),",
        (DUPLICATES, REFERENCE),
    ),
    Mutant(
        "noise under the bounding purpose",
        CORE + "threshold/rounds.rs",
        "Words::new(key, Purpose::Noise, index)",
        "Words::new(key, Purpose::Bound, index)",
        (REFERENCE,),
    ),
    Mutant(
        "items without weight may be released",
        CORE + "threshold/rounds.rs",
        "if weight > 0 && self.rule",
        "if self.rule",
        (REFERENCE, LAW5),
    ),
    Mutant(
        "threads lose updates of shared items",
        CORE + "weighting/histogram.rs",
        "                add(low, high, item, sum);",
        "                if low[item] == 0 { add(low, high, item, sum); }",
        (LAW1,),
    ),
    Mutant(
        "sums forget what passes 32 bits",
        CORE + "weighting/histogram.rs",
        "high[item] += upper;",
        "high[item] |= upper & 1;",
        ("cargo:weighting",),
    ),
    Mutant(
        "system key replaced by a constant",
        CORE + "random/key.rs",
        "getrandom::fill(&mut bytes).map_err(|e| Error::Entropy(e.to_string()))?;",
        "getrandom::fill(&mut bytes).map_err(|e| Error::Entropy(e.to_string()))?;\n        bytes.fill(7);",
        (LAW2,),
    ),
    Mutant(
        "the commitment shows the key",
        CORE + "random/key.rs",
        "blake3::Hash::from_bytes(self.subkey(Purpose::Commitment, 0))",
        "blake3::Hash::from_bytes(self.bytes)",
        (LAW2,),
    ),
    Mutant(
        "texts of different length are one item",
        CORE + "random/digest.rs",
        "first[1..5].copy_from_slice(&length.to_le_bytes());",
        "first[1..5].copy_from_slice(&(length & 0).to_le_bytes());",
        (REFERENCE,),
    ),
    Mutant(
        "dates and integers are one kind",
        CORE + "random/digest.rs",
        "(value.cast_unsigned() << 8) | u128::from(kind as u8)",
        "(value.cast_unsigned() << 8) | u128::from(kind as u8 & 0)",
        ("tests/counterexamples/test_key_identity.py", REFERENCE),
    ),
    Mutant(
        "sampler with half the noise",
        CORE + "noise/decision.rs",
        "let law = Law::new(noise);",
        """let noise = match noise {
            Noise::Gaussian { sigma } => Noise::Gaussian { sigma: sigma / 2.0 },
            Noise::Laplace { scale } => Noise::Laplace { scale: scale / 2.0 },
        };
        let law = Law::new(noise);""",
        (REFERENCE, NOISE),
    ),
    Mutant(
        "decision with a threshold 1 % lower",
        CORE + "noise/decision.rs",
        "let law = Law::new(noise);",
        """let threshold = Threshold::from_units(threshold.units() - threshold.units() / 100);
        let law = Law::new(noise);""",
        (REFERENCE, FREQUENCY),
    ),
    Mutant(
        "above the threshold instead of at least",
        CORE + "noise/decision.rs",
        "i128::from(self.threshold.units()) - i128::from(weight)",
        "i128::from(self.threshold.units()) - i128::from(weight) + 1",
        ("cargo:noise::decision",),
    ),
    Mutant(
        "calibrated scale halved",
        CORE + "mechanisms/count_laplace.rs",
        "div_up(f64::from(bound.get()), epsilon)",
        "div_up(f64::from(bound.get()), 2.0 * epsilon)",
        (LAW4,),
    ),
    Mutant(
        "calibrated threshold 1 % lower",
        CORE + "threshold/calibration.rs",
        "Ok(Threshold::from_units(good))",
        "Ok(Threshold::from_units(good - good / 100))",
        (LAW4,),
    ),
    Mutant(
        "calibrated threshold one unit lower",
        CORE + "threshold/calibration.rs",
        "Ok(Threshold::from_units(good))",
        "Ok(Threshold::from_units(good - 1))",
        (LAW4,),
    ),
    Mutant(
        "threshold for one novel item only",
        CORE + "threshold/calibration.rs",
        "let d0 = bound.get();\n    if !certify(1, 1)",
        "let d0 = bound.get().min(1);\n    if !certify(1, 1)",
        (LAW4,),
    ),
    Mutant(
        "delta not divided among the rounds",
        CORE + "mechanisms/sips.rs",
        "bound, mul_down(delta, *share))?",
        "bound, delta)?",
        (LAW4,),
    ),
    Mutant(
        "rho not divided among the rounds",
        CORE + "mechanisms/sips.rs",
        "zcdp_sigma(mul_down(rho, share))",
        "zcdp_sigma(mul_down(rho, share.max(1.0)))",
        (LAW4,),
    ),
    Mutant(
        "rounds composed as if each were alone",
        CORE + "mechanisms/sips.rs",
        "div_up(1.0, mul_down(mu, sqrt_down(share)))",
        "div_up(1.0, mul_down(mu, sqrt_down(share.max(1.0))))",
        (LAW4,),
    ),
    Mutant(
        "sigma rounded down",
        CORE + "mechanisms/requirements.rs",
        "div_up(1.0, sqrt_down(mul_down(2.0, rho)))",
        "div_up(1.0, sqrt_down(mul_down(2.0, rho))) * (1.0 - 4.0 * f64::EPSILON)",
        (LAW4,),
    ),
    Mutant(
        "conversion forgets the delta of the zCDP guarantee",
        CORE + "accounting/conversion.rs",
        "let total = slack + (Interval::ONE - slack) * d;",
        "let total = (Interval::ONE - slack) * d;",
        (TABLES,),
    ),
    Mutant(
        "the report holds the number of released items",
        CORE + "release/mod.rs",
        "        Ok(Self { items, report })",
        """        let mut report = report;
        report.version.push_str(&format!("+{}", items.num_rows()));
        Ok(Self { items, report })""",
        (LAW5,),
    ),
    Mutant(
        "items in the order of the table",
        CORE + "release/mod.rs",
        "let (items, order) = sorted(items)?;",
        """let unsorted = 0..items.num_rows() as u32;
        let order: Vec<u32> = unsorted.chain(sorted(items)?.1.into_iter().take(0)).collect();
        let items = items.clone();""",
        (LAW5, LAW1),
    ),
    Mutant(
        "weights beside the wrong items",
        CORE + "release/mod.rs",
        "order.iter().map(|&i| units[i as usize] as f64",
        "(0..order.len()).map(|i| units[i] as f64",
        (REFERENCE,),
    ),
    Mutant(
        "steered selection bounds users again",
        CORE + "threshold/steering.rs",
        "    contributions.forget_reserve();\n",
        "",
        (STEERED, REFERENCE),
    ),
    Mutant(
        "no cap on what a user gives to an item",
        CORE + "weighting/tilted.rs",
        ">> SCALE_BITS).min(cap)",
        ">> SCALE_BITS).min(cap.max(1 << 30))",
        ("cargo:tilted",),
    ),
    Mutant(
        "tilted weights above the norm",
        CORE + "weighting/tilted.rs",
        ".unwrap_or(0).isqrt();",
        ".unwrap_or(0).isqrt() + 1024;",
        ("cargo:tilted", REFERENCE),
    ),
    Mutant(
        "a publication that forgets the cap",
        CORE + "mechanisms/steered.rs",
        "- unit + least_cap(bound);",
        "- unit;",
        (STEERED, "cargo:steered"),
    ),
    Mutant(
        "every round of evidence spends all of rho",
        CORE + "mechanisms/steered.rs",
        "zcdp_sigma(mul_down(rho, share))",
        "zcdp_sigma(mul_down(rho, share.max(1.0)))",
        (STEERED, "cargo:steered"),
    ),
    Mutant(
        "items that were given up come back",
        CORE + "threshold/factor.rs",
        "        return 0;\n",
        "        return 1;\n",
        (REFERENCE,),
    ),
    Mutant(
        "greedy users give more than a unit",
        CORE + "weighting/greedy.rs",
        "let mut left = UNIT;",
        "let mut left = UNIT + UNIT / 16;",
        ("cargo:greedy", GREEDY),
    ),
    Mutant(
        "greedy users fill what they have least",
        CORE + "contributions/order.rs",
        "(Reverse(rows.len()), digests",
        "(Reverse(usize::MAX - rows.len()), digests",
        ("cargo:order", GREEDY),
    ),
    Mutant(
        "preferences ignored by the limit",
        CORE + "bounding/mod.rs",
        "if contributions.in_order { u32::MAX } else { 0 }",
        "0",
        (GREEDY,),
    ),
    Mutant(
        "whole units decided by a finer curve",
        CORE + "mechanisms/unit_greedy.rs",
        "l1_curve(epsilon, delta, UNIT)?",
        "l1_curve(epsilon, delta * 2.0, UNIT)?",
        (CURVES, "cargo:greedy"),
    ),
    Mutant(
        "the published calibration passes the check",
        CORE + "release/report.rs",
        "differences.extend(request.mechanism.flaw().map(str::to_owned));",
        "let _ = request.mechanism.flaw();",
        (GREEDY,),
    ),
    Mutant(
        "curve: twice the divergence",
        CORE + "threshold/curve/l2.rs",
        "let growth = (order * Interval::point(divergence.max(0.0))).exp_m1();",
        "let growth = (order * Interval::point(2.0 * divergence.max(0.0))).exp_m1();",
        (POLICY_CURVES,),
    ),
    Mutant(
        "curve: one direction of the constraint dropped",
        CORE + "threshold/curve/l2.rs",
        "forwards.hi().max(backwards.hi())",
        "forwards.hi().max(backwards.hi().min(0.0))",
        (POLICY_CURVES,),
    ),
    Mutant(
        "curve: contributions rounded up to the quantum",
        CORE + "weighting/mod.rs",
        "_ => weight - weight % quantum.max(1),",
        "_ => weight.next_multiple_of(quantum.max(1)),",
        (CURVES,),
    ),
    Mutant(
        "curve: the slack of the norm is ignored",
        CORE + "threshold/curve/continuous.rs",
        "(Interval::integer(quantum.into()) / Interval::integer(norm.into())).square();",
        "(Interval::integer(quantum.into()) / Interval::integer(1 << 30)).square();",
        (POLICY_CURVES,),
    ),
    Mutant(
        "curve: a policy that forgets its slack",
        CORE + "mechanisms/policy_gaussian.rs",
        "l2_continuous_curve(epsilon, delta, policy.norm)?",
        "l2_continuous_curve(epsilon, delta, UNIT)?",
        (POLICY_CURVES,),
    ),
    Mutant(
        "curve: steep lines between entries",
        CORE + "threshold/curve/continuous.rs",
        "        raised(step).max(last)\n    }",
        "        self.above_zero(here)\n    }",
        (POLICY_CURVES,),
    ),
    Mutant(
        "the first line of a continuous curve is straight",
        CORE + "threshold/curve/mod.rs",
        "Some(start * beyond * beyond)",
        "Some(start * u128::from(self.quantum) * beyond)",
        ("cargo:between_its_entries",),
    ),
    Mutant(
        "policy: budget not divided among the passes",
        CORE + "weighting/policy_l1.rs",
        "UNIT / quantum.max(1) / u64::from(self.passes.max(1))",
        "UNIT / quantum.max(1)",
        (CURVE_RELEASES, "cargo:descent_in_quanta"),
    ),
    Mutant(
        "policy: users in the order of the table",
        CORE + "weighting/order.rs",
        "*word = *word >> 32 << 32 | user;",
        "*word = user;",
        (CURVE_RELEASES,),
    ),
    Mutant(
        "policy: what a division leaves is lost",
        CORE + "weighting/policy_l1.rs",
        "(left / self.open.len() as u64, left % self.open.len() as u64);",
        "(left / self.open.len() as u64, 0);",
        (CURVE_RELEASES,),
    ),
    Mutant(
        "policy: what a division leaves is given twice",
        CORE + "weighting/policy_l1.rs",
        "slot.weight += share + one_more;",
        "slot.weight += share + 2 * one_more;",
        (CURVE_RELEASES, "cargo:one_division_places"),
    ),
    Mutant(
        "mad: all of what returns is put on items",
        CORE + "weighting/mad.rs",
        "(0..=PARTS).rev().find(|part| fits(*part)).unwrap_or(0)",
        "(0..=PARTS).rev().find(|part| fits(*part)).map_or(0, |_| PARTS)",
        ("cargo:the_part_that_is_put_on_items",),
    ),
    Mutant(
        "a swap that costs no more than an addition",
        CORE + "topk/mechanisms/mod.rs",
        "Neighbours::Swap => rate / 2.0,",
        "Neighbours::Swap => rate,",
        (TOP_K,),
    ),
    Mutant(
        "sequences at the full epsilon",
        CORE + "topk/mechanisms/joint.rs",
        "parameters.range_epsilon() / 2.0",
        "parameters.range_epsilon()",
        (TOP_K,),
    ),
    Mutant(
        "the stop at the count of the last candidate",
        CORE + "topk/mechanisms/limit_domain.rs",
        "Some(threshold.saturating_add(1).min(1 << 60))",
        "Some(threshold.min(1))",
        (TOP_K,),
    ),
    Mutant(
        "a place that does not leave out what was taken",
        CORE + "topk/joint.rs",
        "(place, allowed)| allowed - place)",
        "(_, allowed)| allowed)",
        ("cargo:topk", TOP_K),
    ),
    Mutant(
        "the tail of the levels forgotten",
        CORE + "topk/levels.rs",
        "        blocks.push(Block { first: horizon + 1, last: None, bound });\n",
        "        let _ = bound;\n",
        ("cargo:topk",),
    ),
    Mutant(
        "a cluster's noise by place in the task",
        CORE + "cluster/decide.rs",
        "let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();",
        "let digests: Vec<Digest> = (0..items.len() as u128).map(Digest).collect();",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster bounds parts of users",
        CORE + "cluster/weigh.rs",
        "if self.routes.is_next(route)? && self.rows >= ROWS {",
        "if !self.routes.is_next(route)? && self.rows > 0 {",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster counts the weights of a task twice",
        CORE + "cluster/at_items.rs",
        "            unpack_weights(packed, &mut self.weights)?;",
        """            unpack_weights(packed, &mut self.weights)?;
            unpack_weights(packed, &mut self.weights)?;""",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster decides parts of an item one by one",
        CORE + "cluster/at_items.rs",
        "self.weights.chunk_by(|a, b| a.0 == b.0).map(whole);",
        "self.weights.chunk_by(|a, b| a.0 == b.0 && false).map(whole);",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster forgets what was released",
        CORE + "cluster/weigh.rs",
        "if let Some(gone) = self.gone.among(bounded.vocabulary()) {",
        "if let Some(gone) = Decisions::default().among(bounded.vocabulary()) {",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's census loses users",
        CORE + "cluster/census.rs",
        "sum.1 = sum.1.saturating_add(next.1);",
        "sum.1 = sum.1.max(next.1);",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster tells the state of an item to one of its parts only",
        CORE + "cluster/steer.rs",
        "for (_, source) in parts {",
        "for (_, source) in &parts[..1] {",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's caps are those of users of one item",
        CORE + "cluster/tilt.rs",
        "|items| self.publish.cap(items)",
        "|_| self.publish.cap(1)",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's top-k drops a candidate",
        CORE + "cluster/total.rs",
        "if self.counts.len() / 2 >= most {",
        "if { self.counts.pop(); true } {",
        ("cargo:cluster",),
    ),
]
