//! The scale model shows the moments that the service's figures predict.

use std::sync::Arc;

use orrery_engine::partition::Partition;
use orrery_engine::throughput::claim::Claim;
use orrery_engine::write::{ItemRef, WriteKind, WriteRequest};
use orrery_engine::{Container, Error, MetadataOptions, Metering};
use orrery_model::limits::{Limits, Scale};
use orrery_model::partition_key::PartitionKey;

use super::account::{Account, Outcome, container, rate};
use crate::harness::TestEntropy;

fn thousandth() -> Limits {
    let scale: Scale = "1/1000".parse().expect("a scale");
    Limits::default().scaled(scale)
}

/// Request units section 7: initial physical partitions by throughput, and the share of each.
#[test]
fn rates_have_the_partitions_and_budgets_of_their_thousandfold() {
    let account = Account::new(thousandth());
    account.create("/dbs", r#"{"id":"d"}"#, &MetadataOptions::default());
    for (throughput, partitions) in [(1, 1), (6, 1), (7, 2), (11, 2), (60, 10), (100, 17)] {
        let id = format!("c{throughput}");
        account.create("/dbs/d/colls", &container(&id), &rate(throughput));
        let there = account.open(&format!("/dbs/d/colls/{id}"));
        assert_eq!(
            there.ranges().partitions().len(),
            partitions,
            "{throughput}"
        );
        let budget = there.throughput().partition_budget().expect("a budget");
        let exact = throughput as f64 * 100.0 / partitions as f64;
        assert!(
            (budget as f64 - exact).abs() <= 1.0,
            "{throughput}: {budget}"
        );
        // What a minute serves is what the budget says, however coarse 1 RU is beside it.
        let outcome = account.reads(&there, "some key", 40, 60);
        let served = outcome.charge.units() / 60.0;
        let predicted = throughput as f64 / partitions as f64;
        assert!(
            (served / predicted - 1.0).abs() < 0.05,
            "{throughput}: {served} RU/s of {predicted}"
        );
    }
}

/// Works on splits until none is left to do.
fn settle(account: &Account) {
    while account.engine.advance_reshapes(10_000).expect("advanced") > 0 {}
}

fn create(account: &Account, container: &Arc<Container>, body: String) -> Result<(), Error> {
    let kind = WriteKind::Create {
        body: body.into_bytes(),
    };
    let request = WriteRequest::new(kind, None);
    let answer = account.engine.write(container, request);
    answer.map(|_| ()).map_err(|failure| failure.error)
}

/// Bytes of items and index in all partitions.
fn stored(container: &Container) -> u64 {
    let ranges = container.ranges();
    let bytes = ranges.partitions().iter();
    bytes.map(|one| one.statistics().total_bytes()).sum()
}

/// Bytes of the longest order's text.
const LONGEST: usize = 64_000;

/// Orders of many customers, short and long ones.
struct Orders {
    dice: TestEntropy,
    filling: String,
    made: u64,
}

impl Orders {
    fn new() -> Self {
        Self {
            dice: TestEntropy::new(7),
            filling: "x".repeat(LONGEST),
            made: 0,
        }
    }

    fn next(&mut self, key: &str) -> String {
        self.made += 1;
        let length = self.dice.below(LONGEST as u64) as usize;
        let text = &self.filling[..length];
        let (number, total) = (self.made, self.dice.below(10_000));
        format!(
            r#"{{"id":"{number}","pk":"{key}","total":{total},"state":"open","text":"{text}"}}"#
        )
    }

    fn of_some_customer(&mut self) -> String {
        let customer = self.dice.below(100_000);
        self.next(&format!("customer-{customer}"))
    }
}

/// Request units sections 7 and 11: partitions double whenever there is more than 50 GB for each.
#[test]
fn data_has_the_partitions_of_its_thousandfold() {
    let limits = thousandth();
    let most = limits.physical_partition_bytes as f64;
    let account = Account::with(limits, Metering::default());
    let container = account.container(6);
    let mut orders = Orders::new();
    let mut checked = [0; 3];
    loop {
        for _ in 0..10 {
            create(&account, &container, orders.of_some_customer()).expect("created");
        }
        settle(&account);
        let full = stored(&container) as f64 / most;
        if full > 2.25 {
            break;
        }
        let (fewest, fullest) = (predicted(full * 0.95), predicted(full * 1.05));
        let found = container.ranges().partitions().len();
        assert!(
            (fewest..=fullest).contains(&found),
            "{found} partitions at {full:.3} times the size of one"
        );
        if fewest == fullest {
            checked[found.ilog2() as usize] += 1;
        }
    }
    assert!(checked.iter().all(|&times| times > 20), "{checked:?}");
    let sizes: Vec<u64> = container
        .ranges()
        .partitions()
        .iter()
        .map(|one| one.statistics().total_bytes())
        .collect();
    let even = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    let is_even = |size: &u64| (*size as f64 / even - 1.0).abs() < 0.05;
    assert!(sizes.iter().all(is_even), "{sizes:?}");
}

fn predicted(full: f64) -> usize {
    let mut partitions = 1;
    while full / partitions as f64 > 1.0 {
        partitions *= 2;
    }
    partitions
}

/// Request units section 7: from 2 to 3 partitions, one range keeps half of the keys and has no
/// more throughput than two others with a quarter.
#[test]
fn uneven_splits_have_the_shares_of_the_service() {
    let account = Account::new(thousandth());
    let container = account.container(12);
    assert_eq!(container.ranges().partitions().len(), 2);
    account
        .replace_offer(r#"{"offerThroughput":21}"#)
        .expect("raised");
    settle(&account);
    let ranges = container.ranges();
    let state = container.state();
    let owner = |key: &str| {
        let key = PartitionKey::single(key);
        let epk = state.key_definition().effective(&key);
        let partition = container.partition_of(&epk).expect("the map is whole");
        let owns = |one: &Arc<Partition>| one.id() == partition.id();
        ranges.partitions().iter().position(owns).expect("there")
    };
    let mut keys: Vec<Vec<String>> = vec![Vec::new(); ranges.partitions().len()];
    for number in 0..20_000 {
        let key = format!("key-{number}");
        keys[owner(&key)].push(key);
    }
    keys.sort_by_key(Vec::len);
    let shares: Vec<f64> = keys
        .iter()
        .map(|keys| keys.len() as f64 / 20_000.0)
        .collect();
    for (share, predicted) in shares.iter().zip([0.25, 0.25, 0.5]) {
        assert!((share / predicted - 1.0).abs() < 0.05, "{shares:?}");
    }

    // All of the container's throughput is wanted, from all keys alike.
    let (rate, seconds) = (21, 100);
    let turns = [2, 0, 2, 1];
    let mut outcomes = [Outcome::default(); 3];
    for number in 0..rate * seconds {
        let place = turns[number % turns.len()];
        let keys = &keys[place];
        let key = &keys[number / turns.len() % keys.len()];
        outcomes[place].add(account.read(&container, key, Claim::default()));
        let (at, next) = (number as u64, number as u64 + 1);
        let moment = |number: u64| number * 1_000_000 / rate as u64;
        account.clock.advance_us(moment(next) - moment(at));
    }
    assert_eq!((outcomes[0].refused, outcomes[1].refused), (0, 0));
    // 10.5 RU/s are wanted of 7.
    let share = outcomes[2].refused_share();
    assert!((share * 3.0 - 1.0).abs() < 0.05, "{share}");
    let served = outcomes.iter().map(|one| one.charge.units()).sum::<f64>();
    let predicted = 21.0 * 100.0 * 5.0 / 6.0;
    assert!((served / predicted - 1.0).abs() < 0.05, "{served}");
}

/// Request units section 8: a partition answers 429 from the moment when more is wanted than R/P.
#[test]
fn refusals_begin_when_demand_passes_the_share() {
    for (throughput, partitions) in [(60, 10), (21, 4), (100, 17)] {
        let account = Account::new(thousandth());
        let container = account.container(throughput);
        assert_eq!(container.ranges().partitions().len(), partitions);
        let budget = throughput as f64 / partitions as f64;
        let keys = Account::keys(&container);
        // The demand for one key grows by a hundredth of its share every 10 seconds.
        let mut owed = 0.0;
        let mut refused_at = None;
        'rising: for tick in 0..20_000_u32 {
            let demand = budget * f64::from(tick) / 10_000.0;
            owed += demand / 10.0;
            while owed >= 1.0 {
                owed -= 1.0;
                if account
                    .read(&container, &keys[0], Claim::default())
                    .is_err()
                {
                    refused_at = Some(demand);
                    break 'rising;
                }
            }
            account.clock.advance_us(100_000);
        }
        let demand = refused_at.expect("twice the budget is refused");
        assert!(
            (demand / budget - 1.0).abs() < 0.05,
            "{throughput}: {demand} RU/s of {budget}"
        );
        let other = account.read(&container, &keys[1], Claim::default());
        assert!(other.is_ok(), "its neighbour has its own");
    }
}

/// The same with writes among the reads, which cost more than a second has.
#[test]
fn a_mix_is_served_by_the_share_and_no_more() {
    let account = Account::new(thousandth());
    let container = account.container(60);
    let keys = Account::keys(&container);
    let (seconds, mut charged, mut refused, mut wanted) = (300, 0.0, 0_u32, 0_u32);
    // Four reads and a write each second, 9.7 RU of 6.
    for second in 0..seconds {
        for number in 0..5 {
            wanted += 1;
            let answer = if number == 2 {
                let id = second.to_string();
                account.insert(&container, &keys[0], &id)
            } else {
                let read = account.read(&container, &keys[0], Claim::default());
                read.map_err(Error::TooManyRequests)
            };
            match answer {
                Ok(charge) => charged += charge.units(),
                Err(Error::TooManyRequests(_)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
            account.clock.advance_us(200_000);
        }
    }
    let predicted = 6.0 * f64::from(seconds);
    assert!((charged / predicted - 1.0).abs() < 0.05, "{charged}");
    assert!(refused > wanted / 10, "{refused} of {wanted}");
}

/// Request units sections 8 and 9: 20 GB of one key value, index included, wherever the others
/// have split to.
#[test]
fn a_logical_partition_is_full_at_a_thousandth_of_its_size() {
    let limits = thousandth();
    let predicted = limits.logical_partition_bytes as f64;
    let account = Account::with(limits, Metering::default());
    let container = account.container(10);
    let mut orders = Orders::new();
    // A third of all orders are those of one customer.
    let refused = loop {
        for _ in 0..2 {
            create(&account, &container, orders.of_some_customer()).expect("created");
        }
        if let Err(error) = create(&account, &container, orders.next("giant")) {
            break error;
        }
        settle(&account);
    };
    assert!(matches!(refused, Error::LogicalPartitionFull { .. }));
    let text = refused.to_string();
    assert_eq!(text, "Partition key reached maximum size of 20.48 MB");
    assert_eq!(container.ranges().partitions().len(), 2);
    let ranges = account.engine.partition_statistics(&container);
    let named = ranges.expect("readable").into_iter();
    let largest = named
        .flat_map(|range| range.named)
        .max_by_key(|key| key.bytes);
    let giant = largest.expect("it stands out");
    assert_eq!(giant.key, PartitionKey::single("giant"));
    assert!(
        (giant.bytes as f64 / predicted - 1.0).abs() < 0.05,
        "{} bytes of {predicted}",
        giant.bytes
    );
    // All others are written, and it is when something is deleted.
    assert!(account.insert(&container, "other", "o").is_ok());
    let longest = orders.filling.clone();
    let again = || {
        let body = format!(r#"{{"id":"again","pk":"giant","text":"{longest}"}}"#);
        create(&account, &container, body)
    };
    assert!(matches!(again(), Err(Error::LogicalPartitionFull { .. })));
    let ids = (1..=orders.made).filter(|number| number % 3 == 0);
    for id in ids.take(20) {
        let kind = WriteKind::Delete {
            item: ItemRef::Id(id.to_string()),
        };
        let request = WriteRequest::new(kind, Some(PartitionKey::single("giant")));
        account.engine.write(&container, request).expect("deleted");
    }
    assert!(again().is_ok());
}
