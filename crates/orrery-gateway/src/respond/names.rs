//! Names of the headers that are not HTTP's own (protocol: section 3).

use http::HeaderName;

macro_rules! names {
    ($($(#[$doc:meta])* $constant:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $constant: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    /// Correlates a request with its response and logs.
    ACTIVITY_ID = "x-ms-activity-id";
    /// What the requests of one operation of the client have in common.
    CORRELATED_ACTIVITY_ID = "x-ms-cosmos-correlated-activityid";
    /// Request units.
    REQUEST_CHARGE = "x-ms-request-charge";
    /// Position in a range, `range:version#lsn`.
    SESSION_TOKEN = "x-ms-session-token";
    /// Number of items on a page.
    ITEM_COUNT = "x-ms-item-count";
    /// Token of a page.
    CONTINUATION = "x-ms-continuation";
    /// Refines the status.
    SUB_STATUS = "x-ms-substatus";
    /// When to try again.
    RETRY_AFTER_MS = "x-ms-retry-after-ms";
    /// Owner by name.
    ALT_CONTENT_PATH = "x-ms-alt-content-path";
    /// Owner by rid.
    CONTENT_PATH = "x-ms-content-path";
    /// Range that served or should serve.
    PARTITION_KEY_RANGE_ID = "x-ms-documentdb-partitionkeyrangeid";
    /// Limits of a container.
    RESOURCE_QUOTA = "x-ms-resource-quota";
    /// What of them is used.
    RESOURCE_USAGE = "x-ms-resource-usage";
    /// Version of the schema.
    SCHEMA_VERSION = "x-ms-schemaversion";
    /// Version of the backend.
    SERVICE_VERSION = "x-ms-serviceversion";
    /// Version of the gateway.
    GATEWAY_VERSION = "x-ms-gatewayversion";
    /// Regions beyond the first.
    NUMBER_OF_READ_REGIONS = "x-ms-number-of-read-regions";
    /// Position of the range after the operation.
    LSN = "lsn";
    /// Position of the item's last write.
    ITEM_LSN = "x-ms-item-lsn";
    /// The same as `lsn` in a region.
    LOCAL_LSN = "x-ms-cosmos-llsn";
    /// The same as the item's in a region.
    ITEM_LOCAL_LSN = "x-ms-cosmos-item-llsn";
    /// What a quorum has.
    QUORUM_ACKED_LSN = "x-ms-quorum-acked-lsn";
    /// What a quorum of the region has.
    QUORUM_ACKED_LOCAL_LSN = "x-ms-cosmos-quorum-acked-llsn";
    /// What all regions have.
    GLOBAL_COMMITTED_LSN = "x-ms-global-committed-lsn";
    /// Times and counts of a query.
    QUERY_METRICS = "x-ms-documentdb-query-metrics";
    /// Indexes that a query used or could use.
    INDEX_UTILIZATION = "x-ms-cosmos-index-utilization";
    /// What a query had better do another way, URL-encoded.
    QUERY_ADVICE = "x-ms-cosmos-query-advice";
    /// How a query ran.
    QUERY_EXECUTION_INFO = "x-ms-cosmos-query-execution-info";
    /// Whether the client must distribute the rest of a query.
    REQUIRES_DISTRIBUTION = "x-ms-cosmos-query-requiresdistribution";
    /// Progress of an index change, in percent.
    INDEX_TRANSFORMATION_PROGRESS = "x-ms-documentdb-collection-index-transformation-progress";
    /// Progress of lazy indexing, in percent.
    LAZY_INDEXING_PROGRESS = "x-ms-documentdb-collection-lazy-indexing-progress";
    /// Whether throughput is still changing.
    OFFER_REPLACE_PENDING = "x-ms-offer-replace-pending";
    /// Least throughput allowed.
    MIN_THROUGHPUT = "x-ms-cosmos-min-throughput";
    /// Most throughput allowed.
    MAX_ALLOWED_THROUGHPUT = "x-ms-cosmos-offer-max-allowed-throughput";
    /// Most throughput without a split.
    INSTANT_SCALE_UP = "x-ms-cosmos-instant-scale-up-value";

    /// Date that a signature covers.
    DATE = "x-ms-date";
    /// Partition key as a JSON array.
    PARTITION_KEY = "x-ms-documentdb-partitionkey";
    /// How the next two are meant.
    READ_KEY_TYPE = "x-ms-read-key-type";
    /// Start of a part of a range.
    START_EPK = "x-ms-start-epk";
    /// End of a part of a range.
    END_EPK = "x-ms-end-epk";
    /// Direction of a read feed.
    ENUMERATION_DIRECTION = "x-ms-enumeration-direction";
    /// Page size.
    MAX_ITEM_COUNT = "x-ms-max-item-count";
    /// Largest continuation, in KB.
    CONTINUATION_LIMIT_KB = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
    /// This POST is a query.
    IS_QUERY = "x-ms-documentdb-isquery";
    /// The old name of the same.
    IS_QUERY_LEGACY = "x-ms-documentdb-query";
    /// This POST asks for a plan.
    IS_QUERY_PLAN = "x-ms-cosmos-is-query-plan-request";
    /// What the client's query pipeline can do.
    SUPPORTED_QUERY_FEATURES = "x-ms-cosmos-supported-query-features";
    /// A query may span ranges.
    ENABLE_CROSS_PARTITION = "x-ms-documentdb-query-enablecrosspartition";
    /// A query may run unindexed filters.
    ENABLE_SCAN = "x-ms-documentdb-query-enable-scan";
    /// Return query metrics.
    POPULATE_QUERY_METRICS = "x-ms-documentdb-populatequerymetrics";
    /// Return index metrics, base64.
    POPULATE_INDEX_METRICS = "x-ms-cosmos-populateindexmetrics";
    /// Return index metrics, URL-encoded.
    POPULATE_INDEX_METRICS_V2 = "x-ms-cosmos-populateindexmetrics-v2";
    /// Return query advice.
    POPULATE_QUERY_ADVICE = "x-ms-cosmos-populatequeryadvice";
    /// A query is tried on one range without a plan.
    OPTIMISTIC_DIRECT_EXECUTE = "x-ms-cosmos-query-optimisticdirectexecute";
    /// This POST is an upsert.
    IS_UPSERT = "x-ms-documentdb-is-upsert";
    /// Whether to index the item.
    INDEXING_DIRECTIVE = "x-ms-indexing-directive";
    /// Consistency of one request.
    CONSISTENCY_LEVEL = "x-ms-consistency-level";
    /// Consistency of one read, newer form.
    READ_CONSISTENCY_STRATEGY = "x-ms-cosmos-read-consistency-strategy";
    /// Change feed mode.
    A_IM = "a-im";
    /// Form of change feed items.
    CHANGE_FEED_WIRE_FORMAT = "x-ms-cosmos-changefeed-wire-format-version";
    /// What a write answers.
    PREFER = "prefer";
    /// This POST is a batch.
    IS_BATCH = "x-ms-cosmos-is-batch-request";
    /// All or nothing.
    BATCH_ATOMIC = "x-ms-cosmos-batch-atomic";
    /// Go on after a failure.
    BATCH_CONTINUE_ON_ERROR = "x-ms-cosmos-batch-continue-on-error";
    /// Container that the client means.
    INTENDED_COLLECTION_RID = "x-ms-cosmos-intended-collection-rid";
    /// Manual throughput.
    OFFER_THROUGHPUT = "x-ms-offer-throughput";
    /// Autoscale throughput.
    OFFER_AUTOPILOT = "x-ms-cosmos-offer-autopilot-settings";
    /// Change an offer to autoscale.
    MIGRATE_TO_AUTOPILOT = "x-ms-cosmos-migrate-offer-to-autopilot";
    /// Change an offer to manual.
    MIGRATE_TO_MANUAL = "x-ms-cosmos-migrate-offer-to-manual-throughput";
    /// Fill quota and usage.
    POPULATE_QUOTA_INFO = "x-ms-documentdb-populatequotainfo";
    /// Add statistics of the ranges.
    POPULATE_PARTITION_STATISTICS = "x-ms-documentdb-populatepartitionstatistics";
    /// Who is refused first.
    PRIORITY_LEVEL = "x-ms-cosmos-priority-level";
    /// A share of the container's throughput.
    THROUGHPUT_BUCKET = "x-ms-cosmos-throughput-bucket";
    /// Life of a resource token.
    EXPIRY_SECONDS = "x-ms-documentdb-expiry-seconds";
    /// Triggers before a write.
    PRE_TRIGGER_INCLUDE = "x-ms-documentdb-pre-trigger-include";
    /// Triggers after a write.
    POST_TRIGGER_INCLUDE = "x-ms-documentdb-post-trigger-include";
}
