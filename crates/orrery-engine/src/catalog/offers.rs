//! Throughput of databases and containers as resources: offers (protocol: section 12). The rules
//! are the model's ([`orrery_model::throughput`]); here they meet what is stored.

use std::sync::Arc;

use orrery_model::json;
use orrery_model::resource_path::ResourceKind;
use orrery_model::rid::ResourceId;
use orrery_model::throughput::{History, Throughput, ThroughputError};
use orrery_model::value::{Object, Value};
use rustc_hash::FxHashMap;

use super::record::Record;
use super::{Catalog, Change, MetadataOptions, OfferFacts};
use crate::container::Container;
use crate::error::Error;

/// A change between the two ways of provisioning, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferMigration {
    /// `x-ms-cosmos-migrate-offer-to-autopilot`
    ToAutoscale,
    /// `x-ms-cosmos-migrate-offer-to-manual-throughput`
    ToManual,
}

fn refused(error: ThroughputError) -> Error {
    Error::bad_request(error.to_string())
}

/// The throughput that an offer holds.
pub(super) fn kept(offer: &Record) -> Option<Throughput> {
    let content = offer.content.get("content")?;
    let settings = content.member("offerAutopilotSettings");
    let rate = |value: &Value<'_>| value.as_i64().and_then(|rate| u64::try_from(rate).ok());
    match rate(settings.member("maxThroughput")) {
        Some(max) => {
            let policy = settings
                .member("autoUpgradePolicy")
                .member("throughputPolicy");
            let percent = rate(policy.member("incrementPercent"));
            let increment_percent = percent.and_then(|percent| u32::try_from(percent).ok());
            let increment_percent = increment_percent.unwrap_or(0);
            Some(Throughput::Autoscale {
                max,
                increment_percent,
            })
        }
        None => rate(content.member("offerThroughput")).map(Throughput::Manual),
    }
}

pub(super) fn resource_of(offer: &Record) -> Option<ResourceId> {
    let text = offer
        .content
        .get("offerResourceId")
        .and_then(Value::as_str)?;
    ResourceId::parse(text).ok()
}

/// A replacement names the offer that it replaces, in as many ways as it likes.
pub(super) fn check_identity(old: &Record, body: &[u8]) -> Result<(), Error> {
    let wire = old.wire();
    let given = json::parse(body).map_err(|error| Error::bad_request(error.to_string()))?;
    for name in ["id", "_rid", "offerResourceId", "resource", "_self"] {
        let given = match given.member(name) {
            Value::Undefined | Value::Null => continue,
            given => given.as_str().map(|given| given.trim_matches('/')),
        };
        let own = wire.get(name).and_then(Value::as_str);
        if given.is_none() || given != own.map(|own| own.trim_matches('/')) {
            return Err(Error::bad_request(format!(
                "One of the specified inputs is invalid: the '{name}' of an offer cannot be changed."
            )));
        }
    }
    Ok(())
}

/// The settings of a migration are the service's choice, but what is sent must be settings.
fn check_settings(content: &Value<'_>) -> Result<(), Error> {
    let invalid = || refused(ThroughputError::InvalidInput);
    if matches!(content, Value::Undefined | Value::Null) {
        return Ok(());
    }
    let content = content.as_object().ok_or_else(invalid)?;
    let is_whole = |value: &Value<'_>| value.is_null() || value.as_i64().is_some();
    if !content.get("offerThroughput").is_none_or(is_whole) {
        return Err(invalid());
    }
    match content.get("offerAutopilotSettings") {
        None | Some(Value::Null) => Ok(()),
        Some(settings) if is_whole(settings.member("maxThroughput")) => Ok(()),
        Some(_) => Err(invalid()),
    }
}

fn raised(history: &History, throughput: Throughput) -> History {
    let mut history = *history;
    match throughput {
        Throughput::Manual(rate) => history.highest_manual = history.highest_manual.max(rate),
        Throughput::Autoscale { max, .. } => {
            history.highest_autoscale = history.highest_autoscale.max(max);
        }
    }
    history
}

/// The part of the history that the offer itself remembers.
fn remembered(history: &History) -> Object<'static> {
    Object::from_iter([
        ("highestManual", history.highest_manual),
        ("highestAutoscale", history.highest_autoscale),
    ])
}

impl Catalog<'_> {
    /// What the headers of a create ask for; `None` when they ask for nothing.
    pub(super) fn requested_throughput(
        &self,
        options: &MetadataOptions,
    ) -> Result<Option<Throughput>, Error> {
        let limits = self.engine.limits();
        let is_asked = options.throughput.is_some() || options.autoscale_settings.is_some();
        if is_asked && self.engine.metering().serverless {
            return Err(Error::bad_request(
                "Setting offer throughput or autopilot on container is not supported for \
                 serverless accounts.",
            ));
        }
        match (options.throughput, &options.autoscale_settings) {
            (Some(_), Some(_)) => Err(refused(ThroughputError::Both)),
            (Some(rate), None) => Throughput::manual(rate, limits).map(Some).map_err(refused),
            (None, Some(text)) => {
                let settings =
                    json::parse_str(text).map_err(|_| refused(ThroughputError::InvalidInput))?;
                let throughput = Throughput::from_autoscale_settings(&settings, limits);
                throughput.map(Some).map_err(refused)
            }
            (None, None) => Ok(None),
        }
    }

    /// The offer of a database or container that has one of its own.
    pub(super) fn offer_of(&self, resource: ResourceId) -> Option<Arc<Record>> {
        let offers = self.read_tree(|tree| tree.all(ResourceKind::Offer));
        offers
            .into_iter()
            .find(|offer| resource_of(offer) == Some(resource))
    }

    /// With how many physical partitions each container that has an offer of its own can use its
    /// throughput (request units: section 7).
    fn wanted_by_all(&self) -> FxHashMap<ResourceId, u32> {
        let limits = self.engine.limits();
        let offers = self.read_tree(|tree| tree.all(ResourceKind::Offer));
        let wanted = |offer: &Arc<Record>| {
            Some((resource_of(offer)?, kept(offer)?.needed_partitions(limits)))
        };
        offers.iter().filter_map(wanted).collect()
    }

    /// The containers that have fewer physical partitions than their throughput needs, with how
    /// many that is.
    pub(crate) fn short_of_partitions(&self) -> Vec<(Arc<Container>, u32)> {
        let wanted = self.wanted_by_all();
        let short = |container: Arc<Container>| {
            let wanted = *wanted.get(&container.rid())?;
            let has = container.ranges().partitions().len();
            (has < wanted as usize).then_some((container, wanted))
        };
        self.engine
            .containers()
            .into_iter()
            .filter_map(short)
            .collect()
    }

    /// How many physical partitions a container's throughput needs; 0 where it has no offer.
    pub(crate) fn wanted_partitions(&self, container: ResourceId) -> u32 {
        self.wanted_by_all().get(&container).copied().unwrap_or(0)
    }

    /// The offer of a new database or container.
    pub(super) fn new_offer(
        &self,
        resource: &Record,
        throughput: Throughput,
    ) -> Result<Arc<Record>, Error> {
        let account = self.engine.account();
        let sequence = account.take_numbers("resource", 1)?;
        let number = account.take_numbers("offer", 1)?;
        let rid = ResourceId::offer(u32::try_from(number).map_err(|_| Error::Damaged("offer"))?);
        let history = raised(&History::default(), throughput);
        let mut content = Object::new();
        content.insert("id", Value::from(rid.to_string()));
        content.insert("offerVersion", "V2");
        content.insert("offerType", "Invalid");
        content.insert("resource", Value::from(resource.rid.self_link()));
        content.insert("offerResourceId", Value::from(resource.rid.to_string()));
        content.insert("content", throughput.to_content(&history));
        Ok(Arc::new(Record {
            kind: ResourceKind::Offer,
            rid,
            sequence,
            etag: self.fresh_etag(),
            ts: self.engine.clock().now_seconds(),
            content,
            internal: Value::Object(remembered(&history)),
        }))
    }

    /// Changes throughput: not below the minimum, and between manual and autoscale only with the
    /// migration header.
    pub(super) fn replace_offer(
        &self,
        old: &Record,
        body: &Object<'_>,
        options: &MetadataOptions,
    ) -> Result<Arc<Record>, Error> {
        let limits = self.engine.limits();
        let history = self.history(old);
        let was = kept(old).ok_or(Error::Damaged("offer"))?;
        let content = body.get("content").unwrap_or(&Value::Undefined);
        if options.migration.is_some() {
            check_settings(content)?;
        }
        let new = match options.migration {
            // The service picks the figure of a migration: enough for what was provisioned.
            Some(OfferMigration::ToAutoscale) => {
                let step = limits.autoscale_rate_step.max(1);
                let max = was
                    .max_rate()
                    .max(limits.min_autoscale_rate)
                    .next_multiple_of(step);
                Throughput::Autoscale {
                    max,
                    increment_percent: 0,
                }
            }
            Some(OfferMigration::ToManual) => Throughput::Manual(was.max_rate()),
            None => Throughput::from_content(content, limits).map_err(refused)?,
        };
        was.check_replace(new, &history, limits, options.migration.is_some())
            .map_err(refused)?;
        let history = raised(&history, new);
        let mut content = old.content.clone();
        let mut memory = remembered(&history);
        let Value::Object(mut rates) = new.to_content(&history) else {
            return Err(Error::Damaged("offer"));
        };
        self.replace_buckets(old, body, &mut rates, &mut memory)?;
        content.insert("content", Value::Object(rates));
        let record = self.changed(old, content, Value::Object(memory));
        self.commit(&Change::put(record.clone()))?;
        Ok(record)
    }

    /// Raises the maximum of autoscale whose data has outgrown it (request units: section 7).
    pub(crate) fn raise_for_storage(&self) -> Result<(), Error> {
        for offer in self.read_tree(|tree| tree.all(ResourceKind::Offer)) {
            if self.outgrown(&offer).is_none() {
                continue;
            }
            let _turn = self.turn();
            // It may have been changed since.
            let offer = self.read_tree(|tree| tree.get(offer.rid).cloned());
            if let Some((offer, least)) = offer.and_then(|offer| {
                let least = self.outgrown(&offer)?;
                Some((offer, least))
            }) {
                let content = least.to_content(&History::default());
                let body = Object::from_iter([("content", content)]);
                self.replace_offer(&offer, &body, &MetadataOptions::default())?;
            }
        }
        Ok(())
    }

    /// What an autoscale offer has to be raised to, if that is more than it is.
    fn outgrown(&self, offer: &Record) -> Option<Throughput> {
        let was = kept(offer)?;
        let Throughput::Autoscale {
            max,
            increment_percent,
        } = was
        else {
            return None;
        };
        let least = was.minimum(&self.history(offer), self.engine.limits());
        (least > max).then_some(Throughput::Autoscale {
            max: least,
            increment_percent,
        })
    }

    fn history(&self, offer: &Record) -> History {
        let member = |name| {
            let value = offer.internal.member(name).as_i64();
            value
                .and_then(|value| u64::try_from(value).ok())
                .unwrap_or(0)
        };
        let resource = resource_of(offer);
        let covered = |rid: ResourceId| {
            resource.is_some_and(|resource| rid == resource || rid.parent() == Some(resource))
        };
        let containers = self.engine.containers();
        let mine = containers
            .iter()
            .filter(|container| covered(container.rid()));
        let bytes = mine
            .clone()
            .flat_map(|container| container.ranges().partitions().to_vec())
            .map(|partition| partition.statistics())
            .map(|statistics| statistics.item_bytes + statistics.index_bytes)
            .sum();
        let is_database = resource.is_some_and(|resource| resource.parent().is_none());
        History {
            highest_manual: member("highestManual"),
            highest_autoscale: member("highestAutoscale"),
            stored_bytes: bytes,
            sharing_containers: if is_database { mine.count() } else { 0 },
        }
    }

    /// What the headers of an offer's answer tell. A raised rate is pending until there are as
    /// many physical partitions as it needs.
    pub(super) fn offer_facts(&self, record: &Record) -> Option<OfferFacts> {
        if record.kind != ResourceKind::Offer {
            return None;
        }
        let limits = self.engine.limits();
        let throughput = kept(record)?;
        let container = resource_of(record).and_then(|rid| {
            let number = rid.owner_number()?;
            self.engine
                .container_by_number(rid.database_number(), number)
        });
        let replace_pending = container.is_some_and(|container| {
            let has = container.ranges().partitions().len();
            has < throughput.needed_partitions(limits) as usize
        });
        Some(OfferFacts {
            minimum: throughput.minimum(&self.history(record), limits),
            replace_pending,
        })
    }
}
