//! `orrery query`: SQL over a container, with the plan and the merge that an SDK would do.

mod output;
mod ranges;

use std::io;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_model::container::{self, ContainerSpec};
use orrery_model::json;
use orrery_sql::analysis::QueryLimits;
use orrery_sql::environment::{DistanceFunction, Environment, Parameters, VectorPath};
use orrery_sql::errors::SqlErrors;
use orrery_sql::plan::{PlanContext, QueryPlan, plan};
use orrery_sql::{parser, routing};
use serde_json::{Value as Json, json};

use crate::client::account::{ContainerInfo, ContainerName};
use crate::report;
use crate::target::{Target, TargetArgs};
use output::{Format, Printer};
use ranges::{Source, targets};

const EXAMPLES: &str = "\
Examples:
  orrery query \"SELECT * FROM c WHERE c.total > 100\" --in shop/orders
  orrery query \"SELECT c.carrier, COUNT(1) AS n FROM c GROUP BY c.carrier\" --in air/flights
  orrery query \"SELECT TOP 5 * FROM c WHERE c.id = @id\" --in shop/orders --param id='\"42\"' --format ndjson

Rows go to standard output; the charge, the ranges visited and the time go to standard error. A
query that names the partition key visits one range; one that does not visits all, and costs more.

Exit code: 0; 1 when the query failed; 2 wrong usage.";

/// Options of `orrery query`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct QueryArgs {
    /// The query.
    #[arg(value_name = "SQL")]
    text: String,
    /// Container to query.
    #[arg(long = "in", value_name = "DB/CONTAINER")]
    name: ContainerName,
    /// A parameter, its value as JSON (a text that is no JSON counts as a string).
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, Json)>,
    /// How rows are printed.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Print so many rows at most.
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// Show the system properties in tables too.
    #[arg(long)]
    system: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// Runs the command.
pub fn run(args: &QueryArgs) -> Result<ExitCode> {
    let target = args.target.open(false)?;
    let outcome = query(args, &target);
    target.close()?;
    outcome?;
    Ok(ExitCode::SUCCESS)
}

fn query(args: &QueryArgs, target: &Target) -> Result<()> {
    let started = Instant::now();
    let mut account = target.account();
    let info = account.open_container(&args.name, None)?;
    let plan = planned(args, &info)?;
    let targets = targets(&plan.ranges, &info.ranges);
    let body = |text: &str| body(text, &args.parameters);
    let source = Source::new(account, &args.name, &body);
    let mut printer = Printer::new(
        io::BufWriter::new(io::stdout().lock()),
        args.format,
        args.system,
    );
    let (mut rows, mut printed) = (0_u64, Ok(()));
    let most = args.max.unwrap_or(u64::MAX);
    let outcome = source.run(&args.text, &plan, &targets, &mut |row| {
        if rows >= most {
            return ControlFlow::Break(());
        }
        rows += 1;
        printed = printer.row(&row);
        if printed.is_ok() && rows < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    outcome.and(printed)?;
    printer.finish()?;
    let cost = source.cost();
    crate::output::note(&format!(
        "{}, {:.2} RU, {} of {} visited, {} in {}",
        report::plural(rows, "row"),
        cost.charge,
        targets.len(),
        report::plural(info.ranges.len() as u64, "range"),
        report::plural(cost.pages, "page"),
        report::span(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)),
    ))
}

/// Plans as the server would, so that a wrong query is told with its place before it is sent.
fn planned(args: &QueryArgs, info: &ContainerInfo) -> Result<QueryPlan> {
    let told = |errors: SqlErrors| anyhow::anyhow!("{}", explain(&args.text, &errors));
    let query = parser::parse(&args.text).map_err(told)?;
    let list = args.parameters.iter().map(|(name, value)| {
        let text = value.to_string();
        Ok((name.clone(), json::parse_str(&text)?.into_owned()))
    });
    let parameters = Parameters::new(list.collect::<Result<_>>()?);
    let environment = Environment {
        vectors: vectors(&info.spec),
        ..Environment::default()
    };
    let context = PlanContext {
        definition: Some(&info.spec.partition_key),
        parameters: &parameters,
        environment: &environment,
        features: None,
        limits: QueryLimits::default(),
        fold: &|expression| routing::literal(expression, &parameters),
    };
    plan(&args.text, &query, &context).map_err(told)
}

/// The part of the container's policies that plans depend on: which way distances sort.
fn vectors(spec: &ContainerSpec) -> Vec<VectorPath> {
    let embeddings = spec.vector_embeddings.iter().flatten();
    embeddings
        .filter_map(|embedding| {
            let path = embedding
                .path
                .properties()?
                .into_iter()
                .map(str::to_owned)
                .collect();
            let distance = match embedding.distance {
                container::DistanceFunction::Cosine => DistanceFunction::Cosine,
                container::DistanceFunction::DotProduct => DistanceFunction::DotProduct,
                container::DistanceFunction::Euclidean => DistanceFunction::Euclidean,
            };
            Some(VectorPath { path, distance })
        })
        .collect()
}

/// Each error with its place in the text.
fn explain(text: &str, errors: &SqlErrors) -> String {
    let located = errors.clone().locate(text);
    let mut lines = vec!["the query is wrong".to_owned()];
    for error in located.list() {
        lines.push(format!("  {}", error.message));
        let Some(span) = error.span else { continue };
        // A marker under one line of text; queries of several lines are told by message alone.
        if !text.contains('\n') {
            let wide = span.end.saturating_sub(span.start).max(1);
            lines.push(format!("    {text}"));
            lines.push(format!(
                "    {}{}",
                " ".repeat(span.start as usize),
                "^".repeat(wide as usize)
            ));
        }
    }
    lines.join("\n")
}

fn body(text: &str, parameters: &[(String, Json)]) -> Vec<u8> {
    let parameters: Vec<Json> = parameters
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({ "query": text, "parameters": parameters })
        .to_string()
        .into_bytes()
}

fn parameter(text: &str) -> Result<(String, Json)> {
    let (name, value) = text
        .split_once('=')
        .context("write NAME=VALUE, for example id='\"42\"'")?;
    let name = name.trim_start_matches('@');
    if name.is_empty() {
        bail!("the parameter has no name; write NAME=VALUE");
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
    Ok((format!("@{name}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_json_or_strings() {
        assert_eq!(parameter("id=42").unwrap(), ("@id".to_owned(), json!(42)));
        assert_eq!(
            parameter("@id=\"42\"").unwrap(),
            ("@id".to_owned(), json!("42"))
        );
        assert_eq!(
            parameter("name=Ann Lee").unwrap(),
            ("@name".to_owned(), json!("Ann Lee"))
        );
        assert!(parameter("id").is_err());
        assert!(parameter("=1").is_err());
    }
}
