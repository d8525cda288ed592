//! Short runs of every shape, and that a seed decides everything.

use orrery_sim::simulation::{Counts, Options, run};

fn options(seed: u64, steps: u64) -> Options {
    Options {
        seed,
        steps,
        keep_trace: false,
    }
}

#[test]
fn nothing_is_violated() {
    let mut all = Counts::default();
    for seed in 0..12 {
        let verdict = run(options(seed, 1_500));
        assert_eq!(verdict.violation, None, "seed {seed}");
        all.writes += verdict.counts.writes;
        all.maps += verdict.counts.maps;
        all.crashes += verdict.counts.crashes;
    }
    // A run in which nothing happens would hold too.
    assert!(all.writes > 2_000, "{all:?}");
    assert!(all.maps > 40, "{all:?}");
    assert!(all.crashes > 20, "{all:?}");
}

#[test]
fn equal_seeds_give_equal_traces() {
    let trace = |seed| {
        let verdict = run(options(seed, 800));
        (verdict.trace.to_string(), verdict.trace.lines())
    };
    assert_eq!(trace(7), trace(7));
    assert_ne!(trace(7).0, trace(8).0);
}
