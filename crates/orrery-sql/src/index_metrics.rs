//! Index metrics: which indexes a query uses, and which it could use if the policy had them
//! (`x-ms-cosmos-index-utilization`, protocol: section 3.3).

use crate::errors::write_string;
use crate::filter::{Composable, IndexStep, IndexTest, steps};
use crate::program::Program;
use orrery_model::index::Composite;
use orrery_model::path::{ItemPath, Step};
use std::fmt::Write as _;

/// Indexes by the paths of policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Indexes {
    /// `/a/?`.
    pub single: Vec<String>,
    /// `/a ASC`, `/b DESC`.
    pub composite: Vec<Vec<String>>,
}

/// What a query asks of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexMetrics {
    /// What it is served from.
    pub utilized: Indexes,
    /// What would serve it better.
    pub potential: Indexes,
}

/// What an index offers.
pub struct Offered<'o> {
    /// Whether a path is indexed.
    pub includes: &'o dyn Fn(&[Step]) -> bool,
    /// The composite indexes.
    pub composites: Vec<&'o Composite>,
    /// The path in the policy of the spatial index of a path's shapes.
    pub shapes: &'o dyn Fn(&[Step]) -> Option<String>,
}

fn spec(path: &[Step], descending: bool) -> String {
    let direction = if descending { "DESC" } else { "ASC" };
    format!("{} {direction}", ItemPath::of_steps(path))
}

impl IndexMetrics {
    /// The metrics of a query over an index.
    pub fn new(program: &Program, offered: &Offered<'_>) -> Self {
        let mut metrics = Self::default();
        let uses = program.path_uses();
        let order = program.order_keys().unwrap_or_default();
        for one in &uses {
            match one.test {
                IndexTest::Near(_) => metrics.add_shapes(&one.path, offered),
                _ => metrics.add_single(&one.path, offered),
            }
        }
        for (path, _) in order {
            metrics.add_single(path, offered);
        }
        let composable = Composable::new(program.filter(), order);
        let serving = offered.composites.iter().copied();
        let serving = serving.filter(|composite| composable.served_by(composite).is_some());
        // The longest is the one that is taken.
        if let Some(best) = serving.max_by_key(|composite| composite.paths.len()) {
            let paths = best.paths.iter();
            let specs = paths.map(|part| spec(part.path.steps(), part.descending));
            metrics.utilized.composite.push(specs.collect());
            return metrics;
        }
        for keys in composable.wanted() {
            let specs = keys
                .iter()
                .map(|(path, descending)| spec(&steps(path), *descending));
            metrics.potential.composite.push(specs.collect());
        }
        metrics
    }

    /// Adds a path of the partition key that the request names. The service counts it as an
    /// equality (Python SDK 4.17.1: the tests `populate_index_metrics`).
    pub fn add_key(&mut self, path: &[Step], offered: &Offered<'_>) {
        self.add_scalar(path, offered);
    }

    fn add_single(&mut self, path: &[IndexStep], offered: &Offered<'_>) {
        self.add_scalar(&steps(path), offered);
    }

    fn add_scalar(&mut self, steps: &[Step], offered: &Offered<'_>) {
        let text = format!("{}/?", ItemPath::of_steps(steps));
        let place = if (offered.includes)(steps) {
            &mut self.utilized
        } else {
            &mut self.potential
        };
        if !place.single.contains(&text) {
            place.single.push(text);
        }
    }

    /// The form has no list for spatial indexes: they stand by their own paths among the others.
    fn add_shapes(&mut self, path: &[IndexStep], offered: &Offered<'_>) {
        let steps = steps(path);
        let (place, text) = match (offered.shapes)(&steps) {
            Some(text) => (&mut self.utilized, text),
            None => (
                &mut self.potential,
                format!("{}/*", ItemPath::of_steps(&steps)),
            ),
        };
        if !place.single.contains(&text) {
            place.single.push(text);
        }
    }

    /// The form of `populateindexmetrics`.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (name, indexes) in [("Utilized", &self.utilized), ("Potential", &self.potential)] {
            if out.len() > 1 {
                out.push(',');
            }
            let _ = write!(out, "\"{name}SingleIndexes\":[");
            for (place, path) in indexes.single.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                out.push_str("{\"FilterExpression\":\"\",\"IndexSpec\":");
                write_string(&mut out, path);
                out.push_str(",\"FilterPreciseSet\":true,\"IndexPreciseSet\":true,\"IndexImpactScore\":\"High\"}");
            }
            let _ = write!(out, "],\"{name}CompositeIndexes\":[");
            for (place, paths) in indexes.composite.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                out.push_str("{\"IndexSpecs\":");
                write_list(&mut out, paths);
                out.push_str(",\"IndexPreciseSet\":false,\"IndexImpactScore\":\"High\"}");
            }
            out.push(']');
        }
        out.push('}');
        out
    }

    /// The form of `populateindexmetrics-V2`.
    pub fn to_json_v2(&self) -> String {
        let mut out = String::from("{");
        for (name, indexes, score) in [
            ("UtilizedIndexes", &self.utilized, ""),
            (
                "PotentialIndexes",
                &self.potential,
                ",\"IndexImpactScore\":\"High\"",
            ),
        ] {
            out.push_str(if out.len() > 1 { "," } else { "" });
            let _ = write!(out, "\"{name}\":{{\"SingleIndexes\":[");
            for (place, path) in indexes.single.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                out.push_str("{\"IndexSpec\":");
                write_string(&mut out, path);
                let _ = write!(out, "{score}}}");
            }
            out.push_str("],\"CompositeIndexes\":[");
            for (place, paths) in indexes.composite.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                out.push_str("{\"IndexSpecs\":");
                write_list(&mut out, paths);
                let _ = write!(out, "{score}}}");
            }
            out.push_str("]}");
        }
        out.push('}');
        out
    }
}

fn write_list(out: &mut String, list: &[String]) {
    out.push('[');
    for (place, text) in list.iter().enumerate() {
        out.push_str(if place > 0 { "," } else { "" });
        write_string(out, text);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, Parameters};
    use orrery_model::container::ContainerSpec;
    use orrery_model::index::IndexTree;
    use orrery_model::limits::Limits;

    fn metrics(text: &str) -> IndexMetrics {
        let query = crate::parser::parse(text).expect("parses");
        let program = Program::compile(&query, &Parameters::default(), &Environment::default())
            .expect("compiles");
        let policy = r#"{"id":"c","partitionKey":{"paths":["/pk"]},"indexingPolicy":{"compositeIndexes":
            [[{"path":"/b"},{"path":"/a"},{"path":"/k","order":"descending"}]],
            "spatialIndexes":[{"path":"/at/*","types":["Point"]}]}}"#;
        let policy = orrery_model::json::parse_str(policy).expect("JSON");
        let spec = ContainerSpec::parse(&policy, &Limits::default()).expect("a policy");
        let tree = IndexTree::new(&spec.indexing_policy);
        let offered = Offered {
            includes: &|steps| steps != [Step::Property("out".to_owned())],
            composites: tree.composites().iter().collect(),
            shapes: &|steps| tree.shapes(steps).map(|shapes| shapes.path().to_string()),
        };
        IndexMetrics::new(&program, &offered)
    }

    #[test]
    fn paths_are_used_or_missing() {
        let found = metrics("SELECT * FROM c WHERE c.a = 1 AND (c.out > 2 OR c[\"b c\"] = 3)");
        assert_eq!(found.utilized.single, ["/a/?", "/\"b c\"/?"]);
        assert_eq!(found.potential.single, ["/out/?"]);
        assert!(found.potential.composite.is_empty());
        let elements = metrics("SELECT VALUE t FROM c JOIN t IN c.t WHERE t.n = 1 ORDER BY c.k");
        assert_eq!(elements.utilized.single, ["/t/[]/n/?", "/k/?"]);
        let value = metrics("SELECT c.a, UPPER(c.b) FROM c WHERE UPPER(c.a) = 'X'");
        assert_eq!(value, IndexMetrics::default());
    }

    #[test]
    fn spatial_indexes_are_told() {
        let found = metrics(
            "SELECT * FROM c WHERE ST_DISTANCE(c.at, {'type':'Point','coordinates':[1,2]}) <= 5
            AND (ST_WITHIN(c.at.b, {'type':'Point','coordinates':[1,2]}) OR ST_INTERSECTS({'type':'Point','coordinates':[1,2]}, c.area))
            AND ST_DISTANCE(c.at, c.x) < 5 AND ST_DISTANCE(c.y, {'type':'Point','coordinates':[1,2]}) > 5",
        );
        assert_eq!(found.utilized.single, ["/at/*"]);
        assert_eq!(found.potential.single, ["/area/*"]);
    }

    #[test]
    fn composites_are_proposed_equalities_first() {
        let found = metrics("SELECT * FROM c WHERE c.r > 1 AND c.a = 1 AND c.s < 2");
        assert_eq!(
            found.potential.composite,
            [["/a ASC", "/r ASC"], ["/a ASC", "/s ASC"]]
        );
        let found = metrics("SELECT * FROM c WHERE c.a = 1 AND c.b = 2 ORDER BY c.k DESC");
        assert_eq!(found.utilized.composite, [["/b ASC", "/a ASC", "/k DESC"]]);
        let text = found.to_json_v2();
        assert!(
            text.contains(r#""CompositeIndexes":[{"IndexSpecs":["/b ASC","/a ASC","/k DESC"]}]"#),
            "{text}"
        );
        let text = metrics("SELECT * FROM c WHERE c.a = 1").to_json();
        assert_eq!(
            text,
            r#"{"UtilizedSingleIndexes":[{"FilterExpression":"","IndexSpec":"/a/?","FilterPreciseSet":true,"IndexPreciseSet":true,"IndexImpactScore":"High"}],"UtilizedCompositeIndexes":[],"PotentialSingleIndexes":[],"PotentialCompositeIndexes":[]}"#
        );
    }
}
