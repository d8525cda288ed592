//! Throughput as the meters need it, and the throughput buckets of offers (request units: section
//! 7): five shares of a container's throughput, each with a cap in percent.

use orrery_model::resource_path::ResourceKind;
use orrery_model::rid::ResourceId;
use orrery_model::throughput::Throughput;
use orrery_model::value::{Object, Value};
use rustc_hash::FxHashMap;

use super::Catalog;
use super::offers::{kept, resource_of};
use super::record::Record;
use crate::error::{Error, Throttle};
use crate::throughput::claim::Bucket;
use crate::throughput::provision::BucketPercents;

/// The member of an offer's content.
const BUCKETS: &str = "throughputBuckets";
/// What an offer remembers: when its buckets were changed.
const CHANGED: &str = "bucketsChanged";
/// Seconds between two changes.
const REST: u64 = 600;

/// What an offer provisions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Provisioned {
    pub throughput: Throughput,
    pub buckets: BucketPercents,
}

impl Catalog<'_> {
    /// What is provisioned for databases and containers.
    pub(crate) fn provisioned(&self) -> FxHashMap<ResourceId, Provisioned> {
        let offers = self.read_tree(|tree| tree.all(ResourceKind::Offer));
        let provisioned = |offer: &std::sync::Arc<Record>| {
            let content = offer.content.get("content").unwrap_or(&Value::Undefined);
            let provisioned = Provisioned {
                throughput: kept(offer)?,
                // What was stored was checked.
                buckets: percents(content.member(BUCKETS)).unwrap_or_default(),
            };
            Some((resource_of(offer)?, provisioned))
        };
        offers.iter().filter_map(provisioned).collect()
    }

    /// Puts the buckets of a replace into the new content and the memory of an offer. A replace
    /// that does not speak of them leaves them.
    pub(super) fn replace_buckets(
        &self,
        old: &Record,
        body: &Object<'_>,
        content: &mut Object<'static>,
        memory: &mut Object<'static>,
    ) -> Result<(), Error> {
        let before = old.content.get("content").unwrap_or(&Value::Undefined);
        let before = before.member(BUCKETS);
        let asked = body.get("content").unwrap_or(&Value::Undefined);
        let asked = asked.member(BUCKETS);
        let new = if asked.is_undefined() { before } else { asked };
        let caps = percents(new)?;
        let now = self.engine.clock().now_seconds();
        let mut changed = old.internal.member(CHANGED).as_i64().unwrap_or(0);
        if caps != percents(before).unwrap_or_default() {
            let since = now.saturating_sub(u64::try_from(changed).unwrap_or(0));
            if changed != 0 && since < REST {
                let after_ms = (REST - since) * 1_000;
                return Err(Error::TooManyRequests(Throttle::bucket_change(after_ms)));
            }
            changed = i64::try_from(now).unwrap_or(i64::MAX);
        }
        if caps != BucketPercents::default() {
            content.insert(BUCKETS, new.clone().into_owned());
        }
        if changed != 0 {
            memory.insert(CHANGED, changed);
        }
        Ok(())
    }
}

/// Reads `[{"id": 1, "maxThroughputPercentage": 20}, ...]`.
fn percents(list: &Value<'_>) -> Result<BucketPercents, Error> {
    let mut caps = BucketPercents::default();
    let list = match list {
        Value::Undefined | Value::Null => return Ok(caps),
        list => list.as_array(),
    };
    let refused = || {
        Error::bad_request(
            "One of the specified inputs is invalid: throughput buckets have an id from 1 to 5 and a maxThroughputPercentage from 1 to 100.",
        )
    };
    for bucket in list.ok_or_else(refused)? {
        let number = |name: &str| bucket.member(name).as_i64();
        let place = number("id")
            .and_then(|id| Bucket::new(u8::try_from(id).ok()?))
            .map(Bucket::place);
        let percent = number("maxThroughputPercentage")
            .and_then(|percent| u32::try_from(percent).ok())
            .filter(|percent| (1..=100).contains(percent));
        let (Some(place), Some(percent)) = (place, percent) else {
            return Err(refused());
        };
        if caps[place] != 0 {
            return Err(refused());
        }
        caps[place] = percent;
    }
    Ok(caps)
}
