use super::*;
use crate::parser::parse;
use crate::routing::literal;
use orrery_model::partition_key::PartitionKeyKind;

fn planned(text: &str, features: Option<Features>) -> Result<QueryPlan, SqlErrors> {
    let query = parse(text).expect(text);
    let definition =
        PartitionKeyDefinition::new(["/pk"], PartitionKeyKind::Hash, 2).expect("a definition");
    let parameters = Parameters::default();
    let context = PlanContext {
        definition: Some(&definition),
        parameters: &parameters,
        environment: &Environment::default(),
        features,
        limits: QueryLimits::default(),
        fold: &|expr| literal(expr, &parameters),
    };
    plan(text, &query, &context)
}

fn info(text: &str) -> QueryInfo {
    match planned(text, None).expect(text).info {
        PlanInfo::Query(info) => *info,
        PlanInfo::Hybrid(_) => panic!("{text} is hybrid"),
    }
}

#[test]
fn ordered_queries_carry_their_keys() {
    let info = info("SELECT TOP 3 VALUE c.x FROM c WHERE c.f ORDER BY c.k DESC");
    assert_eq!(
        info.rewritten,
        "SELECT TOP 3 c._rid, [{\"item\": c.k}] AS orderByItems, c.x AS payload\nFROM c\n\
         WHERE ((c.f AND ({documentdb-formattableorderbyquery-filter})) AND IS_DEFINED(c.x))\nORDER BY c.k DESC"
    );
    assert_eq!(info.order_by, [("c.k".to_owned(), true)]);
}

#[test]
fn sorted_groups_travel_in_sorted_rows() {
    let info =
        info("SELECT TOP 3 c.a, COUNT(1) AS n FROM c WHERE c.f GROUP BY c.a ORDER BY c.a DESC");
    assert_eq!(
        info.rewritten,
        "SELECT MIN(c._rid) AS _rid, [{\"item\": c.a}] AS orderByItems, \
         {\"groupByItems\": [{\"item\": c.a}], \
         \"payload\": {\"a\": c.a, \"n\": {\"item\": COUNT(1)}}} AS payload\nFROM c\n\
         WHERE (c.f AND ({documentdb-formattableorderbyquery-filter}))\n\
         GROUP BY c.a\nORDER BY c.a DESC"
    );
    assert_eq!(info.order_by, [("c.a".to_owned(), true)]);
    assert_eq!((info.top, info.group_by_aliases.len()), (Some(3), 2));
}

#[test]
fn distinct_rows_are_counted_by_the_client() {
    let info = info("SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.x FROM c)");
    assert_eq!(info.distinct_count_alias.as_deref(), Some("n"));
    assert_eq!(info.rewritten, "SELECT DISTINCT VALUE c.x\nFROM c");
    assert!(info.aggregates.is_empty() && info.distinct == DistinctType::Unordered);
}

#[test]
fn hybrid_queries_have_a_component_for_each_score() {
    let text = "SELECT TOP 5 c.a FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'x', 'y'), VectorDistance(c.v, [1]), [2, -1])";
    let PlanInfo::Hybrid(info) = planned(text, None).expect(text).info else {
        panic!("hybrid")
    };
    assert_eq!(info.components.len(), 2);
    assert_eq!(info.weights, Some(vec![2.0, -1.0]));
    assert_eq!((info.skip, info.take), (None, Some(5)));
    assert!(
        info.global_statistics_query
            .contains("FullTextContains(c.t, \"y\")")
    );
    assert!(info.components[0].rewritten.ends_with("DESC"));
    assert!(
        !info.components[1].order_by[0].1,
        "a negative weight reverses"
    );
}

#[test]
fn missing_features_are_refused() {
    let text = "SELECT * FROM c ORDER BY c.a";
    let errors = planned(text, Some(Features::parse("Top, Distinct"))).expect_err("no OrderBy");
    assert!(
        errors.list()[0]
            .message
            .ends_with("\nQuery contained OrderBy, which the calling client does not support.")
    );
    planned(text, Some(Features::parse("top,ORDERBY"))).expect("listed");
    let errors =
        planned("SELECT COUNT(1) FROM c", Some(Features::parse("Aggregate"))).expect_err("no list");
    assert!(
        errors.list()[0]
            .message
            .starts_with("Cross partition query only supports")
    );
}

#[test]
fn ranges_are_effective_keys() {
    let json = planned("SELECT * FROM c WHERE c.pk = 'redmond'", None)
        .expect("a plan")
        .to_json();
    let key = "22E342F38A486A088463DFF7838A5963";
    assert!(json.ends_with(&format!(
        "\"queryRanges\":[{{\"min\":\"{key}\",\"max\":\"{key}\",\"isMinInclusive\":true,\"isMaxInclusive\":true}}]}}"
    )));
    let json = planned("SELECT * FROM c", None).expect("a plan").to_json();
    assert!(json.ends_with(
        "[{\"min\":\"\",\"max\":\"FF\",\"isMinInclusive\":true,\"isMaxInclusive\":false}]}"
    ));
    assert!(planned("SELECT * FROM c", None).expect("a plan").is_plain());
}

#[test]
fn clients_may_take_the_scores_beside_the_payload() {
    let text = "SELECT TOP 5 c.a FROM c WHERE c.f ORDER BY RANK RRF(FullTextScore(c.t, 'x'), VectorDistance(c.v, [1]))";
    let features = "HybridSearch, HybridSearchSkipOrderByRewrite";
    let hybrid = |text: &str| {
        let plan = planned(text, Some(Features::parse(features))).expect(text);
        let json = plan.to_json();
        assert!(
            json.contains(r#""componentWithoutPayloadQueryInfos":[],"projectionQueryInfo":null"#),
            "{json}"
        );
        match plan.info {
            PlanInfo::Hybrid(info) => info.components,
            PlanInfo::Query(_) => panic!("{text} is not hybrid"),
        }
    };
    for info in hybrid(text) {
        assert!(info.order_by.is_empty() && info.top.is_none() && !info.non_streaming);
        assert!(
            info.rewritten
                .starts_with("SELECT TOP 120 c._rid, {\"a\": c.a} AS payload, [(_FullTextScore("),
            "{}",
            info.rewritten
        );
        assert!(
            info.rewritten
                .contains("] AS componentScores\nFROM c\nWHERE c.f\nORDER BY ")
        );
    }
    let single = "SELECT TOP 5 * FROM c ORDER BY RANK FullTextScore(c.t, 'x')";
    assert!(hybrid(single)[0].rewritten.contains("orderByItems"));
}
