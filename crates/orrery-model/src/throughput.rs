//! Provisioned throughput: what may be asked for, the least that is allowed, and how many
//! physical partitions it starts with (request units: section 7; protocol: section 12).

use crate::limits::Limits;
use crate::value::{Object, Value};

/// Throughput of a container or of a shared database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throughput {
    /// A fixed rate, in request units per second.
    Manual(u64),
    /// A rate that follows the load up to a maximum.
    Autoscale {
        /// The maximum.
        max: u64,
        /// By how many percent the maximum grows by itself; mostly 0.
        increment_percent: u32,
    },
}

/// What the least throughput depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// The highest manual rate ever provisioned.
    pub highest_manual: u64,
    /// The highest autoscale maximum ever provisioned.
    pub highest_autoscale: u64,
    /// Bytes stored.
    pub stored_bytes: u64,
    /// Containers that share it; 0 for throughput of one container.
    pub sharing_containers: usize,
}

/// Throughput that is refused; always a bad request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThroughputError {
    /// Not in the range or not a step.
    #[error(
        "The offer should have valid throughput values between {min} and {max} inclusive in increments of {step}."
    )]
    Range {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
        /// Step.
        step: u64,
    },
    /// Below the least.
    #[error("Requested throughput {requested} is less than required minimum throughput {minimum}.")]
    BelowMinimum {
        /// The value asked for, as written.
        requested: i64,
        /// The least value.
        minimum: u64,
    },
    /// Manual and autoscale at once.
    #[error(
        "Manual throughput and autoscale settings cannot be specified together: use one of them."
    )]
    Both,
    /// Manual where autoscale is, or the other way round, without asking for the change.
    #[error(
        "Switching between manual throughput and autoscale needs the migration header on the request."
    )]
    Migration,
    /// Content that cannot be read.
    #[error("One of the specified inputs is invalid")]
    InvalidInput,
}

fn at_least(minimum: u64, step: u64) -> u64 {
    minimum.div_ceil(step).saturating_mul(step)
}

impl Throughput {
    /// Checks a manual rate as written in a request.
    pub fn manual(rate: i64, limits: &Limits) -> Result<Self, ThroughputError> {
        let range = ThroughputError::Range {
            min: limits.min_manual_rate,
            max: limits.max_rate,
            step: limits.manual_rate_step,
        };
        let rate = u64::try_from(rate).map_err(|_| range.clone())?;
        let allowed = (limits.min_manual_rate..=limits.max_rate).contains(&rate)
            && rate % limits.manual_rate_step.max(1) == 0;
        if allowed {
            Ok(Self::Manual(rate))
        } else {
            Err(range)
        }
    }

    /// Checks an autoscale maximum as written in a request.
    pub fn autoscale(
        max: i64,
        increment_percent: u32,
        limits: &Limits,
    ) -> Result<Self, ThroughputError> {
        let minimum = limits.min_autoscale_rate;
        let below = ThroughputError::BelowMinimum {
            requested: max,
            minimum,
        };
        let max = u64::try_from(max)
            .ok()
            .filter(|&max| max >= minimum)
            .ok_or(below)?;
        if max > limits.max_rate || max % limits.autoscale_rate_step.max(1) != 0 {
            return Err(ThroughputError::Range {
                min: minimum,
                max: limits.max_rate,
                step: limits.autoscale_rate_step,
            });
        }
        Ok(Self::Autoscale {
            max,
            increment_percent,
        })
    }

    /// The rate that may be used now: all of a manual one, the maximum of an autoscale one.
    pub fn max_rate(self) -> u64 {
        match self {
            Self::Manual(rate) => rate,
            Self::Autoscale { max, .. } => max,
        }
    }

    /// The rate that offers show: of autoscale, the tenth that is always there.
    pub fn current_rate(self) -> u64 {
        match self {
            Self::Manual(rate) => rate,
            Self::Autoscale { max, .. } => max / 10,
        }
    }

    /// Whether it follows the load.
    pub fn is_autoscale(self) -> bool {
        matches!(self, Self::Autoscale { .. })
    }

    /// Physical partitions that a container or shared database starts with.
    pub fn initial_partitions(self, is_shared: bool, limits: &Limits) -> u32 {
        let per_partition = if is_shared || self.is_autoscale() {
            limits.initial_autoscale_rate_per_partition
        } else {
            limits.initial_manual_rate_per_partition
        };
        let partitions = self.max_rate().div_ceil(per_partition.max(1)).max(1);
        u32::try_from(partitions).unwrap_or(u32::MAX)
    }

    /// Physical partitions that a rate asks for once it is raised: none may have more than its
    /// most.
    pub fn needed_partitions(self, limits: &Limits) -> u32 {
        let partitions = self
            .max_rate()
            .div_ceil(limits.physical_partition_rate.max(1))
            .max(1);
        u32::try_from(partitions).unwrap_or(u32::MAX)
    }

    /// The least throughput of this kind that a replace may ask for.
    pub fn minimum(self, history: &History, limits: &Limits) -> u64 {
        let sharing = history
            .sharing_containers
            .saturating_sub(limits.shared_database_containers) as u64;
        let gigabytes = history.stored_bytes / limits.bytes_per_min_rate.max(1);
        match self {
            Self::Manual(_) => {
                let shared = sharing.saturating_mul(limits.shared_manual_rate_per_container);
                let base = limits.min_manual_rate.saturating_add(shared);
                let ever = history.highest_manual / limits.highest_manual_divisor.max(1);
                at_least(
                    base.max(ever).max(gigabytes),
                    limits.manual_rate_step.max(1),
                )
            }
            Self::Autoscale { .. } => {
                let shared = sharing.saturating_mul(limits.shared_autoscale_rate_per_container);
                let base = limits.min_autoscale_rate.saturating_add(shared);
                let ever = history.highest_autoscale / limits.highest_autoscale_divisor.max(1);
                let stored = gigabytes.saturating_mul(10);
                at_least(
                    base.max(ever).max(stored),
                    limits.autoscale_rate_step.max(1),
                )
            }
        }
    }

    /// Checks a replacement of this throughput.
    pub fn check_replace(
        self,
        new: Self,
        history: &History,
        limits: &Limits,
        is_migration: bool,
    ) -> Result<(), ThroughputError> {
        if self.is_autoscale() != new.is_autoscale() && !is_migration {
            return Err(ThroughputError::Migration);
        }
        let minimum = new.minimum(history, limits);
        if new.max_rate() < minimum {
            let requested = i64::try_from(new.max_rate()).unwrap_or(i64::MAX);
            return Err(ThroughputError::BelowMinimum { requested, minimum });
        }
        Ok(())
    }

    /// Reads the `content` of an offer in a replace. Autoscale settings win over the rate that
    /// stands beside them, which every SDK sends back as it was read.
    pub fn from_content(content: &Value<'_>, limits: &Limits) -> Result<Self, ThroughputError> {
        let object = content.as_object().ok_or(ThroughputError::InvalidInput)?;
        let settings = object.get("offerAutopilotSettings");
        if let Some(settings) = settings.filter(|settings| !settings.is_null()) {
            return Self::from_autoscale_settings(settings, limits);
        }
        let rate = object.get("offerThroughput").and_then(Value::as_i64);
        Self::manual(rate.ok_or(ThroughputError::InvalidInput)?, limits)
    }

    /// Reads autoscale settings, as in an offer or in the header of a create.
    pub fn from_autoscale_settings(
        settings: &Value<'_>,
        limits: &Limits,
    ) -> Result<Self, ThroughputError> {
        let invalid = || ThroughputError::InvalidInput;
        let max = settings
            .member("maxThroughput")
            .as_i64()
            .ok_or_else(invalid)?;
        let policy = settings
            .member("autoUpgradePolicy")
            .member("throughputPolicy");
        let increment = match policy.member("incrementPercent") {
            Value::Undefined | Value::Null => 0,
            value => value
                .as_i64()
                .and_then(|percent| u32::try_from(percent).ok())
                .filter(|&percent| percent <= 100)
                .ok_or_else(invalid)?,
        };
        Self::autoscale(max, increment, limits)
    }

    /// The `content` of an offer.
    pub fn to_content(self, history: &History) -> Value<'static> {
        let highest = history
            .highest_manual
            .max(history.highest_autoscale)
            .max(self.max_rate());
        let parameters = Object::from_iter([
            ("maxThroughputEverProvisioned", highest),
            ("maxConsumedStorageEverInKB", history.stored_bytes / 1024),
        ]);
        let mut content = Object::new();
        content.insert("offerThroughput", self.current_rate());
        content.insert("offerIsRUPerMinuteThroughputEnabled", false);
        content.insert("offerMinimumThroughputParameters", parameters);
        if let Self::Autoscale {
            max,
            increment_percent,
        } = self
        {
            let percent = Object::from_iter([("incrementPercent", increment_percent)]);
            let mut settings = Object::new();
            settings.insert("maxThroughput", max);
            settings.insert(
                "autoUpgradePolicy",
                Object::from_iter([("throughputPolicy", percent)]),
            );
            content.insert("offerAutopilotSettings", settings);
        }
        Value::Object(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_partitions_follow_the_rate() {
        let limits = Limits::default();
        let manual = |rate| Throughput::manual(rate, &limits).expect("rate");
        let partitions = |rate| manual(rate).initial_partitions(false, &limits);
        assert_eq!(
            [400, 6_000, 6_100, 11_000, 12_100].map(partitions),
            [1, 1, 2, 2, 3]
        );
        assert_eq!(manual(11_000).initial_partitions(true, &limits), 2);
        let autoscale = Throughput::autoscale(10_000, 0, &limits).expect("maximum");
        assert_eq!(autoscale.initial_partitions(false, &limits), 1);
        assert_eq!(manual(30_100).needed_partitions(&limits), 4);
    }

    #[test]
    fn what_may_be_asked_for() {
        let limits = Limits::default();
        for rate in [-200, 0, 300, 399, 450, 1_000_100] {
            let error = Throughput::manual(rate, &limits)
                .expect_err("refused")
                .to_string();
            assert!(error.contains("between 400 and 1000000 inclusive in increments of 100"));
        }
        let error = Throughput::autoscale(-200, 0, &limits)
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains(
                "Requested throughput -200 is less than required minimum throughput 1000"
            )
        );
        assert!(Throughput::autoscale(1_500, 0, &limits).is_err());
    }

    #[test]
    fn minimums_remember() {
        let limits = Limits::default();
        let manual = Throughput::Manual(400);
        let autoscale = Throughput::Autoscale {
            max: 1_000,
            increment_percent: 0,
        };
        let history = |highest, gigabytes: u64, sharing_containers| History {
            highest_manual: highest,
            highest_autoscale: highest,
            stored_bytes: gigabytes << 30,
            sharing_containers,
        };
        assert_eq!(manual.minimum(&history(1_000, 0, 0), &limits), 400);
        assert_eq!(manual.minimum(&history(100_000, 0, 0), &limits), 1_000);
        assert_eq!(manual.minimum(&history(0, 730, 0), &limits), 800);
        assert_eq!(manual.minimum(&history(0, 0, 30), &limits), 900);
        assert_eq!(autoscale.minimum(&history(0, 0, 30), &limits), 6_000);
        assert_eq!(autoscale.minimum(&history(25_000, 0, 0), &limits), 3_000);
        assert_eq!(autoscale.minimum(&history(0, 250, 0), &limits), 3_000);
        let low = manual.check_replace(manual, &history(100_000, 0, 0), &limits, false);
        assert!(matches!(
            low,
            Err(ThroughputError::BelowMinimum { minimum: 1_000, .. })
        ));
        let switch = |is_migration| {
            manual.check_replace(autoscale, &History::default(), &limits, is_migration)
        };
        assert_eq!(switch(false), Err(ThroughputError::Migration));
        assert_eq!(switch(true), Ok(()));
    }

    #[test]
    fn content_round_trips() {
        let limits = Limits::default();
        for throughput in [
            Throughput::Manual(500),
            Throughput::Autoscale {
                max: 4_000,
                increment_percent: 5,
            },
        ] {
            let content = throughput.to_content(&History::default());
            assert_eq!(Throughput::from_content(&content, &limits), Ok(throughput));
        }
    }
}
