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
MAD2R = "tests/conformance/test_mad2r.py"
CURVE_RELEASES = CURVES + "::test_releases_are_those_of_the_table"
POLICY_CURVES = "tests/conformance/test_curves_on_policies.py"
LAW5 = "tests/conformance/test_law5_only_the_release.py"
TABLES = "tests/known_answers/test_dp_sips_tables.py"
DUPLICATES = "tests/counterexamples/test_duplicates.py"
NOISE = "tests/statistical/test_noise.py"
TOP_K = "tests/conformance/test_top_k_laws.py"
FREQUENCY = "tests/statistical/test_release_frequency.py"
EXACT = "tests/auditing/test_exact_laws.py"
BUDGET = "tests/unit/test_budget.py"


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

    @property
    def in_python(self) -> bool:
        """Whether nothing has to be built for it."""
        return self.file.startswith("python/")


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
        "&& (*user.ordered as usize) < self.bound",
        "&& *user.ordered == 0",
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
        "Self::tagged(kind as u8, value)",
        "Self::tagged(kind as u8 & 0, value)",
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
        "3 * (4 * full).max(self.most.into())",
        "(4 * full).max(self.most.into())",
        ("cargo:parts_that_are_put_on_items", CURVE_RELEASES),
    ),
    Mutant(
        "mad: weights return to users of any number of items",
        CORE + "weighting/mad.rs",
        "(1..=u64::from(self.most)).contains(&full)",
        "full >= 1",
        ("cargo:parts_that_are_put_on_items",),
    ),
    Mutant(
        "mad: weights that are not the largest return",
        CORE + "weighting/mad.rs",
        "if loose && factor == FULL_FACTOR {",
        "if loose {",
        (CURVE_RELEASES, "cargo:adaptive_weights"),
    ),
    Mutant(
        "mad2r: the curve takes what the look has spent",
        CORE + "threshold/curve/calibration.rs",
        "sub_down(1.0, look), norm)",
        "sub_down(1.0, 0.0 * look), norm)",
        (MAD2R,),
    ),
    Mutant(
        "mad2r: half the noise of the look",
        CORE + "mechanisms/mad2r.rs",
        "noise: Noise::Gaussian { sigma },",
        "noise: Noise::Gaussian { sigma: sigma / 2.0 },",
        (MAD2R,),
    ),
    Mutant(
        "mad2r: items that nobody kept are left out without noise",
        CORE + "threshold/look.rs",
        "*factor = self.factor(noise.noisy_weight(weight, *word));",
        "*factor = if weight == 0 { 0 } else { self.factor(noise.noisy_weight(weight, *word)) };",
        (CURVES + "::test_items_that_nobody_kept_have_noise_and_may_come_up",),
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
        "a refused sequence comes back",
        CORE + "topk/flip_joint.rs",
        "if out.contains(&ranks) {",
        "if out.contains(&ranks) && level > 1 << 60 {",
        ("cargo:a_refused_sequence",),
    ),
    Mutant(
        "an item found one segment too early",
        CORE + "topk/window.rs",
        "let start = number * self.segment;",
        "let start = number.saturating_sub(1) * self.segment;",
        ("cargo:topk::ranking",),
    ),
    Mutant(
        "the tail of the levels forgotten",
        CORE + "topk/levels.rs",
        "        blocks.push(Block { first: horizon + 1, last: None, bound });\n",
        "        let _ = bound;\n",
        ("cargo:topk",),
    ),
    Mutant(
        "counts with the noise of one item",
        CORE + "mechanisms/count_gaussian.rs",
        "mul_up(zcdp_sigma(rho), sqrt_up(f64::from(bound.get())))",
        "mul_up(zcdp_sigma(rho), sqrt_up(f64::from(bound.get().min(1))))",
        (LAW4,),
    ),
    Mutant(
        "weighted Laplace with half the noise",
        CORE + "mechanisms/weighted_laplace.rs",
        "Noise::Laplace { scale: div_up(1.0, epsilon) }",
        "Noise::Laplace { scale: div_up(1.0, 2.0 * epsilon) }",
        (EXACT + "::test_a_selection_needs_no_more_than_it_claims",),
    ),
    Mutant(
        "policy Laplace with half the noise",
        CORE + "mechanisms/policy_laplace.rs",
        "Noise::Laplace { scale: div_up(1.0, epsilon) }",
        "Noise::Laplace { scale: div_up(1.0, 2.0 * epsilon) }",
        (EXACT + "::test_a_selection_needs_no_more_than_it_claims", LAW4),
    ),
    Mutant(
        "zCDP for weighted Gaussian at twice the price",
        CORE + "mechanisms/weighted_gaussian.rs",
        "Noise::Gaussian { sigma: zcdp_sigma(rho) }",
        "Noise::Gaussian { sigma: zcdp_sigma(2.0 * rho) }",
        (LAW4,),
    ),
    Mutant(
        "one item with twice delta",
        CORE + "mechanisms/one_item.rs",
        "Rule::Curve(l1_curve(epsilon, delta, UNIT)?)",
        "Rule::Curve(l1_curve(epsilon, delta * 2.0, UNIT)?)",
        (EXACT + "::test_a_selection_needs_no_more_than_it_claims",),
    ),
    Mutant(
        "a greedy curve for twice epsilon",
        CORE + "mechanisms/greedy_frequency.rs",
        "let curve = l1_curve(epsilon, delta, QUANTUM)?;",
        "let curve = l1_curve(epsilon * 2.0, delta, QUANTUM)?;",
        (EXACT + "::test_a_selection_needs_no_more_than_it_claims",),
    ),
    Mutant(
        "mad: the curve of another norm",
        CORE + "mechanisms/mad.rs",
        "l2_continuous_curve(epsilon, delta, weighting::Mad::NORM)?",
        "l2_continuous_curve(epsilon, delta, weighting::Mad::NORM / 2)?",
        (EXACT + "::test_a_selection_needs_no_more_than_it_claims", "cargo:mad"),
    ),
    Mutant(
        "mad2r: the curve of another norm",
        CORE + "mechanisms/mad2r.rs",
        "LOOK, weighting::Mad::NORM)?",
        "LOOK, weighting::Mad::NORM / 2)?",
        (EXACT + "::test_a_selection_needs_no_more_than_it_claims",),
    ),
    Mutant(
        "flipped sequences at the full epsilon",
        CORE + "topk/mechanisms/permute_flip_joint.rs",
        "parameters.pure_epsilon() / 2.0",
        "parameters.pure_epsilon()",
        (TOP_K,),
    ),
    Mutant(
        "one round certified for the largest user only",
        CORE + "threshold/calibration/single_round.rs",
        "if rectangle.is_empty() || context.certifies(rectangle) {",
        "if rectangle.is_empty() || context.certifies(rectangle) || rectangle.items.0 < d0 {",
        ("cargo:single_round", LAW4),
    ),
    Mutant(
        "sets at the full epsilon",
        CORE + "topk/mechanisms/joint_set.rs",
        "parameters.range_epsilon() / 2.0",
        "parameters.range_epsilon() * 2.0",
        (EXACT + "::test_a_top_k_needs_no_more_than_it_claims", TOP_K),
    ),
    Mutant(
        "every pick gets all of epsilon",
        CORE + "topk/mechanisms/gumbel_peel.rs",
        "Privacy::PureDp { epsilon } => div_down(epsilon, k),",
        "Privacy::PureDp { epsilon } => div_down(epsilon, k.min(1.0)),",
        (EXACT + "::test_a_top_k_needs_no_more_than_it_claims", TOP_K),
    ),
    Mutant(
        "every flip gets all of epsilon",
        CORE + "topk/mechanisms/permute_flip_peel.rs",
        "div_down(parameters.pure_epsilon(), parameters.k.into())",
        "div_down(parameters.pure_epsilon(), f64::from(parameters.k.min(1)))",
        (EXACT + "::test_a_top_k_needs_no_more_than_it_claims", TOP_K),
    ),
    Mutant(
        "gamma for changes of a half",
        CORE + "topk/mechanisms/gamma.rs",
        "TopKCalibration::new(parameters.pure_epsilon(), 1)",
        "TopKCalibration::new(2.0 * parameters.pure_epsilon(), 1)",
        (EXACT + "::test_a_top_k_needs_no_more_than_it_claims", TOP_K),
    ),
    Mutant(
        "noisy counts with half the noise",
        CORE + "topk/mechanisms/laplace.rs",
        "div_down(parameters.pure_epsilon(), sensitivity.into())",
        "div_down(2.0 * parameters.pure_epsilon(), sensitivity.into())",
        ("tests/auditing/test_audit.py::test_the_limit_of_a_top_k_is_honoured",),
    ),
    Mutant(
        "discovery and ranking both at the full epsilon",
        CORE + "topk/mechanisms/discover.rs",
        "let rest = sub_down(epsilon, first);",
        "let rest = sub_down(epsilon, first * 0.0);",
        (EXACT + "::test_discover_divides_its_epsilon",),
    ),
    Mutant(
        "executors decide the parts of a weight one by one",
        CORE + "cluster/at_items.rs",
        "self.weights.chunk_by(|a, b| a.0 == b.0)",
        "self.weights.chunk_by(|_, _| false)",
        ("cargo:cluster",),
    ),
    Mutant(
        "a confidence bound that is an estimate",
        "python/dpsel/auditing/_bounds.py",
        "low, high = 0.0, hits / trials",
        "low, high = hits / trials, hits / trials",
        ("tests/auditing/test_bounds.py",),
    ),
    Mutant(
        "an audit that forgets what only one user has",
        "python/dpsel/auditing/_exact.py",
        "forwards = shown + math.fsum(",
        "forwards = math.fsum(",
        ("tests/auditing/test_audit.py::test_thresholds_are_as_low_as_their_deltas_allow",),
    ),
    Mutant(
        "the others change their numbers when a user comes",
        "python/dpsel/auditing/_neighbours.py",
        "start = int(self.first and not with_user)",
        "start = int(not with_user)",
        ("tests/auditing/test_audit.py::test_neighbours_differ_in_the_rows_of_one_user",),
    ),
    Mutant(
        "a budget that may be overspent once",
        "python/dpsel/budget.py",
        "if amount > left[name]:",
        "if left[name] <= 0:",
        (BUDGET,),
    ),
    Mutant(
        "deltas of zCDP are not composed",
        "python/dpsel/budget.py",
        "self._spent[name] = self._composed(name, self._spent[name], amount)",
        "self._spent[name] = max(self._spent[name], amount)",
        (BUDGET,),
    ),
    Mutant(
        "swaps are treated as additions",
        "python/dpsel/top_k.py",
        '"neighbours": neighbours,',
        '"neighbours": "add_remove",',
        (TOP_K, "tests/unit/test_top_k.py"),
    ),
    Mutant(
        "the limit of a top-k is dropped on the way",
        "python/dpsel/top_k.py",
        '"max_items_per_user": bound,',
        '"max_items_per_user": None,',
        ("tests/unit/test_top_k.py", EXACT),
    ),
    Mutant(
        "distances of rounded weights",
        "python/dpsel/testing/_replay.py",
        "return weight if isinstance(weight, int) else Fraction(weight)",
        "return weight if isinstance(weight, int) else Fraction(round(weight, 12))",
        ("tests/unit/test_testing.py",),
    ),
    Mutant(
        "public frequencies read backwards",
        "python/dpsel/mechanisms/_greedy.py",
        "key=frequencies.__getitem__, reverse=True)",
        "key=frequencies.__getitem__)",
        (GREEDY,),
    ),
    Mutant(
        "the text of an unforeseen error is shown",
        "python/dpsel/cli/_exit.py",
        'return f"unexpected {type(error).__name__};',
        'return f"unexpected {error};',
        ("tests/cli/test_cli_failures.py",),
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
        CORE + "cluster/gather.rs",
        "self.routes.is_next(route)? && self.rows >= ROWS;",
        "!self.routes.is_next(route)? && self.rows > 0;",
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
        "map(|(item, _)| self.gone.contains(*item)).collect();",
        "map(|_| false).collect();",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's reserve does not move up",
        CORE + "cluster/weigh.rs",
        "gone_before += 1;",
        "gone_before += 0;",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's users give to as many items as before",
        CORE + "cluster/weigh.rs",
        "let weight = weights.of(left.min(bound));",
        "let weight = weights.of(items.min(bound));",
        ("cargo:cluster",),
    ),
    Mutant(
        "settled users lose the end of their reserve",
        CORE + "cluster/settle.rs",
        "rank - n < self.bound",
        "*rank < self.bound",
        ("cargo:cluster",),
    ),
    Mutant(
        "users are settled in the order of bounding, not that of the reserve",
        CORE + "cluster/settle.rs",
        "        bounded.order_all(&control)?;",
        "",
        ("cargo:cluster",),
    ),
    Mutant(
        "an item that one round could release is left out for another",
        CORE + "cluster/census.rs",
        "if found.is_none() && can_release(rule, users, *word) {",
        "*found = None; if can_release(rule, users, *word) {",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's join forgets what its filter mistakes",
        CORE + "cluster/known.rs",
        "filter.passes(item) && !filter.mistaken.contains(&item)",
        "filter.passes(item)",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's join misses an item of the table",
        CORE + "cluster/sift.rs",
        "self.passed.extend(items.into_iter().filter(",
        "self.passed.extend(items.into_iter().step_by(2).filter(",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's join takes released items for others",
        CORE + "cluster/sift.rs",
        ".map(|(item, _)| (item, 1));",
        ".map(|(item, _)| (item, 0));",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's join brings items to other routes than the table's",
        CORE + "cluster/sift.rs",
        "pack(items.collect(), Routes::new(routes)?).into_batches()",
        "pack(items.collect(), Routes::new(routes + 1)?).into_batches()",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's join loses a released item from its filter",
        CORE + "cluster/known.rs",
        "items.for_each(|(item, _)| filter.insert(item));",
        "items.skip(1).for_each(|(item, _)| filter.insert(item));",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's census loses users",
        CORE + "cluster/at_items.rs",
        "sum.1 = sum.1.saturating_add(&next.1);",
        "",
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
        "a cluster's caps are other ones",
        CORE + "cluster/tilt.rs",
        "|items| self.publish.cap(items)",
        "|items| self.publish.cap(items) / 2",
        ("cargo:cluster",),
    ),
    Mutant(
        "a cluster's top-k drops a candidate",
        CORE + "cluster/total.rs",
        "if self.counts.len() / 2 >= most {",
        "if { self.counts.retain(|(_, users)| *users < 20); true } {",
        ("cargo:cluster",),
    ),
]
