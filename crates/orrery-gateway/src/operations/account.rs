//! The account document: `GET /` (protocol: section 1.2).

use http::uri::Authority;
use http::{StatusCode, header};
use orrery_engine::Engine;
use orrery_model::json;

use crate::config::{Consistency, GatewayConfig};
use crate::regions::Locations;
use crate::respond::Reply;
use crate::server::Call;

/// Limits that the native query planner of an SDK wants to know, as the JSON text
/// that travels inside of a string.
const QUERY_ENGINE_CONFIGURATION: &str = concat!(
    r#"{"maxSqlQueryInputLength":524288,"maxJoinsPerSqlQuery":10,"maxLogicalAndPerSqlQuery":2000,"#,
    r#""maxLogicalOrPerSqlQuery":2000,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,"#,
    r#""queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,"#,
    r#""sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"#,
    r#""sqlAllowScalarSubQuery":true,"allowNewKeywords":true,"sqlAllowLike":true,"#,
    r#""sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,"#,
    r#""sqlDisableOptimizationFlags":0,"sqlAllowTop":true,"enableSpatialIndexing":true}"#,
);

/// Answers `GET /`.
pub(crate) fn read(engine: &Engine, config: &GatewayConfig, call: &Call) -> Reply {
    let endpoint = endpoint(config, call);
    let locations = Locations::of(engine, config, &endpoint);
    Reply::json(StatusCode::OK, document(config, &endpoint, &locations))
}

/// Where the client reaches us.
pub(crate) fn endpoint(config: &GatewayConfig, call: &Call) -> String {
    address(config, call, "/")
}

/// A path of ours as the client reaches it: SDKs send everything after this request to where the
/// account document says, so it is the address that the client itself used (ports may be mapped
/// on the way).
pub(crate) fn address(config: &GatewayConfig, call: &Call, path: &str) -> String {
    let (scheme, authority) = match &config.public_endpoint {
        Some(public) => ("", public.trim_end_matches('/')),
        None if call.secure => ("https://", authority(call)),
        None => ("http://", authority(call)),
    };
    [scheme, authority, path].concat()
}

/// HTTP/2 has the authority in the target, HTTP/1.1 in the Host header.
fn authority(call: &Call) -> &str {
    let of_target = call.head.uri.authority().map(Authority::as_str);
    let of_header = || {
        let host = call.head.headers.get(header::HOST)?.to_str().ok()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let (name, port) = host.split_once(':').unwrap_or((host, "0"));
        let plain = name.bytes().all(is_plain) && port.bytes().all(|byte| byte.is_ascii_digit());
        // Names and addresses of the usual kind need no parser.
        ((plain && !name.is_empty()) || host.parse::<Authority>().is_ok()).then_some(host)
    };
    of_target.or_else(of_header).unwrap_or("localhost")
}

fn document(config: &GatewayConfig, endpoint: &str, locations: &Locations) -> String {
    let account = account_name(config, endpoint);
    let Locations { writable, readable } = locations;
    let staleness = match config.consistency {
        Consistency::BoundedStaleness => {
            ",\"maxStalenessPrefix\":100000,\"maxIntervalInSeconds\":300"
        }
        _ => "",
    };
    let (name, rid) = (
        quoted(&account),
        quoted(&format!("{account}.sql.cosmos.azure.com")),
    );
    let planner = quoted(QUERY_ENGINE_CONFIGURATION);
    let level = config.consistency.name();
    format!(
        "{{\"_self\":\"\",\"id\":{name},\"_rid\":{rid},\"media\":\"//media/\",\
         \"addresses\":\"//addresses/\",\"_dbs\":\"//dbs/\",\
         \"writableLocations\":{writable},\"readableLocations\":{readable},\
         \"enableMultipleWriteLocations\":false,\"continuousBackupEnabled\":false,\
         \"enableNRegionSynchronousCommit\":false,\"enablePerPartitionFailoverBehavior\":false,\
         \"disableCrossRegionalHedging\":false,\
         \"userReplicationPolicy\":{{\"asyncReplication\":false,\"minReplicaSetSize\":3,\"maxReplicasetSize\":4}},\
         \"userConsistencyPolicy\":{{\"defaultConsistencyLevel\":\"{level}\"{staleness}}},\
         \"systemReplicationPolicy\":{{\"minReplicaSetSize\":3,\"maxReplicasetSize\":4}},\
         \"readPolicy\":{{\"primaryReadCoefficient\":1,\"secondaryReadCoefficient\":1}},\
         \"queryEngineConfiguration\":{planner}}}"
    )
}

/// The first label of a host name; an address has no labels.
fn account_name(config: &GatewayConfig, endpoint: &str) -> String {
    let host = endpoint
        .split_once("://")
        .and_then(|(_, rest)| rest.trim_end_matches('/').parse::<Authority>().ok())
        .map(|authority| authority.host().to_owned())
        .unwrap_or_default();
    match host.split_once('.') {
        Some((label, _)) if label.parse::<u8>().is_err() && !label.is_empty() => label.to_owned(),
        _ => config.account.clone(),
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::write_string(text, &mut out);
    String::from_utf8(out).expect("JSON text is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{EMULATOR_KEY, Keys};

    fn config() -> GatewayConfig {
        GatewayConfig::new(Keys::single(
            EMULATOR_KEY.parse().expect("the published key"),
        ))
    }

    #[test]
    fn is_json_with_a_planner_configuration_inside() {
        let here = "[{\"databaseAccountEndpoint\":\"https://shop.example:8081/\"}]";
        let locations = Locations {
            writable: here.to_owned(),
            readable: here.to_owned(),
        };
        let text = document(&config(), "https://shop.example:8081/", &locations);
        let value = json::parse_str(&text).expect("JSON");
        assert_eq!(value.member("id").as_str(), Some("shop"));
        let location = value.member("readableLocations").element(0);
        assert_eq!(
            location.member("databaseAccountEndpoint").as_str(),
            Some("https://shop.example:8081/")
        );
        let planner = value
            .member("queryEngineConfiguration")
            .as_str()
            .expect("a string");
        assert!(
            json::parse_str(planner)
                .expect("JSON")
                .member("maxJoinsPerSqlQuery")
                .as_f64()
                == Some(10.0)
        );
    }

    #[test]
    fn an_address_is_no_account_name() {
        for endpoint in [
            "http://127.0.0.1:8081/",
            "http://[::1]:8081/",
            "http://localhost:1/",
        ] {
            assert_eq!(account_name(&config(), endpoint), "localhost", "{endpoint}");
        }
    }
}
