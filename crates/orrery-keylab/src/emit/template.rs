//! Templates for the container: Bicep, Azure Resource Manager, Terraform, and the Azure CLI.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Plan;

/// Diagnostic categories that show whether the key was right.
const CATEGORIES: [&str; 5] = [
    "DataPlaneRequests",
    "QueryRuntimeStatistics",
    "PartitionKeyStatistics",
    "PartitionKeyRUConsumption",
    "ControlPlaneRequests",
];
/// The resource provider's version whose properties are used.
const API: &str = "2024-05-15";

/// Text between apostrophes, as Bicep wants it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn each(paths: &[String], quote: &dyn Fn(&str) -> String) -> String {
    paths
        .iter()
        .map(|path| quote(path))
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn bicep(plan: &Plan) -> String {
    let mut text = format!(
        "// Container with the partition key {}.\nparam accountName string\nparam databaseName string\nparam containerName string\nparam workspaceId string\n\nresource account 'Microsoft.DocumentDB/databaseAccounts@{API}' existing = {{\n  name: accountName\n}}\n\nresource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@{API}' existing = {{\n  parent: account\n  name: databaseName\n}}\n\nresource container 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@{API}' = {{\n  parent: database\n  name: containerName\n  properties: {{\n    resource: {{\n      id: containerName\n      partitionKey: {{\n        paths: [{}]\n        kind: '{}'\n        version: 2\n      }}\n      indexingPolicy: {{\n        indexingMode: 'consistent'\n        automatic: true\n        includedPaths: [{{ path: '/*' }}]\n        excludedPaths: [{{ path: '/\"_etag\"/?' }}]\n      }}\n",
        plan.title.replace('\n', " "),
        each(&plan.paths, &quoted),
        plan.kind
    );
    // Writing to a string cannot fail.
    if let Some(ttl) = plan.ttl {
        let _ = writeln!(text, "      defaultTtl: {ttl}");
    }
    if !plan.unique.is_empty() {
        text.push_str("      uniqueKeyPolicy: {\n        uniqueKeys: [\n");
        for group in &plan.unique {
            let _ = writeln!(text, "          {{ paths: [{}] }}", each(group, &quoted));
        }
        text.push_str("        ]\n      }\n");
    }
    let options = if plan.autoscale {
        format!(
            "autoscaleSettings: {{ maxThroughput: {} }}",
            plan.throughput
        )
    } else {
        format!("throughput: {}", plan.throughput)
    };
    let _ = write!(
        text,
        "    }}\n    options: {{\n      {options}\n    }}\n  }}\n}}\n\nresource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {{\n  scope: account\n  name: 'partition-key'\n  properties: {{\n    workspaceId: workspaceId\n    logAnalyticsDestinationType: 'Dedicated'\n    logs: [\n"
    );
    for category in CATEGORIES {
        let _ = writeln!(text, "      {{ category: '{category}', enabled: true }}");
    }
    text.push_str("    ]\n  }\n}\n");
    text
}

/// The template as a value.
fn arm_value(plan: &Plan) -> Value {
    let mut resource = json!({
        "id": "[parameters('containerName')]",
        "partitionKey": {"paths": plan.paths, "kind": plan.kind, "version": 2},
        "indexingPolicy": {
            "indexingMode": "consistent",
            "automatic": true,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/\"_etag\"/?"}],
        },
    });
    if let Some(ttl) = plan.ttl {
        resource["defaultTtl"] = json!(ttl);
    }
    if !plan.unique.is_empty() {
        let keys: Vec<Value> = plan
            .unique
            .iter()
            .map(|paths| json!({"paths": paths}))
            .collect();
        resource["uniqueKeyPolicy"] = json!({"uniqueKeys": keys});
    }
    let options = if plan.autoscale {
        json!({"autoscaleSettings": {"maxThroughput": plan.throughput}})
    } else {
        json!({"throughput": plan.throughput})
    };
    let logs: Vec<Value> = CATEGORIES
        .iter()
        .map(|category| json!({"category": category, "enabled": true}))
        .collect();
    json!({
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {
            "accountName": {"type": "string"},
            "databaseName": {"type": "string"},
            "containerName": {"type": "string"},
            "workspaceId": {"type": "string"},
        },
        "resources": [
            {
                "type": "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers",
                "apiVersion": API,
                "name": "[format('{0}/{1}/{2}', parameters('accountName'), parameters('databaseName'), parameters('containerName'))]",
                "properties": {"resource": resource, "options": options},
            },
            {
                "type": "Microsoft.Insights/diagnosticSettings",
                "apiVersion": "2021-05-01-preview",
                "scope": "[format('Microsoft.DocumentDB/databaseAccounts/{0}', parameters('accountName'))]",
                "name": "partition-key",
                "properties": {
                    "workspaceId": "[parameters('workspaceId')]",
                    "logAnalyticsDestinationType": "Dedicated",
                    "logs": logs,
                },
            },
        ],
    })
}

pub(super) fn arm(plan: &Plan) -> String {
    // The alternate form of a value is indented text.
    format!("{:#}\n", arm_value(plan))
}

pub(super) fn terraform(plan: &Plan) -> String {
    let quote = |text: &str| {
        let escaped = text
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace("${", "$${");
        format!("\"{escaped}\"")
    };
    let mut text = format!(
        "# Container with the partition key {}.\nvariable \"resource_group\" {{ type = string }}\nvariable \"account_name\" {{ type = string }}\nvariable \"account_id\" {{ type = string }}\nvariable \"database_name\" {{ type = string }}\nvariable \"container_name\" {{ type = string }}\nvariable \"workspace_id\" {{ type = string }}\n\nresource \"azurerm_cosmosdb_sql_container\" \"container\" {{\n  name                  = var.container_name\n  resource_group_name   = var.resource_group\n  account_name          = var.account_name\n  database_name         = var.database_name\n  partition_key_paths   = [{}]\n  partition_key_kind    = \"{}\"\n  partition_key_version = 2\n",
        plan.title.replace('\n', " "),
        each(&plan.paths, &quote),
        plan.kind
    );
    if let Some(ttl) = plan.ttl {
        let _ = writeln!(text, "  default_ttl           = {ttl}");
    }
    if plan.autoscale {
        let _ = write!(
            text,
            "\n  autoscale_settings {{\n    max_throughput = {}\n  }}\n",
            plan.throughput
        );
    } else {
        let _ = writeln!(text, "  throughput            = {}", plan.throughput);
    }
    text.push_str("\n  indexing_policy {\n    indexing_mode = \"consistent\"\n    included_path {\n      path = \"/*\"\n    }\n    excluded_path {\n      path = \"/\\\"_etag\\\"/?\"\n    }\n  }\n");
    for group in &plan.unique {
        let _ = write!(
            text,
            "\n  unique_key {{\n    paths = [{}]\n  }}\n",
            each(group, &quote)
        );
    }
    text.push_str("}\n\nresource \"azurerm_monitor_diagnostic_setting\" \"partition_key\" {\n  name                           = \"partition-key\"\n  target_resource_id             = var.account_id\n  log_analytics_workspace_id     = var.workspace_id\n  log_analytics_destination_type = \"Dedicated\"\n");
    for category in CATEGORIES {
        let _ = write!(
            text,
            "\n  enabled_log {{\n    category = \"{category}\"\n  }}\n"
        );
    }
    text.push_str("}\n");
    text
}

pub(super) fn cli(plan: &Plan) -> String {
    // The command takes one path; a hierarchical key goes through a template.
    let quote = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    if plan.paths.len() > 1 {
        return format!(
            "#!/bin/sh\n# Container with the partition key {}. Set GROUP, ACCOUNT, DATABASE, CONTAINER and WORKSPACE first.\nset -eu\ncat > container.json <<'JSON'\n{}JSON\naz deployment group create --resource-group \"$GROUP\" --template-file container.json \\\n  --parameters accountName=\"$ACCOUNT\" databaseName=\"$DATABASE\" containerName=\"$CONTAINER\" workspaceId=\"$WORKSPACE\"\n",
            plan.title.replace('\n', " "),
            arm(plan)
        );
    }
    let path = plan.paths.first().map_or("/id", String::as_str);
    let mut text = format!(
        "#!/bin/sh\n# Container with the partition key {}. Set GROUP, ACCOUNT, DATABASE, CONTAINER and WORKSPACE first.\nset -eu\naz cosmosdb sql container create --resource-group \"$GROUP\" --account-name \"$ACCOUNT\" \\\n  --database-name \"$DATABASE\" --name \"$CONTAINER\" \\\n  --partition-key-path {} --partition-key-version 2",
        plan.title.replace('\n', " "),
        quote(path)
    );
    let _ = write!(
        text,
        " {} {}",
        if plan.autoscale {
            "--max-throughput"
        } else {
            "--throughput"
        },
        plan.throughput
    );
    if let Some(ttl) = plan.ttl {
        let _ = write!(text, " --ttl {ttl}");
    }
    if !plan.unique.is_empty() {
        let keys: Vec<Value> = plan
            .unique
            .iter()
            .map(|paths| json!({"paths": paths}))
            .collect();
        let _ = write!(
            text,
            " \\\n  --unique-key-policy {}",
            quote(&json!({"uniqueKeys": keys}).to_string())
        );
    }
    let logs: Vec<Value> = CATEGORIES
        .iter()
        .map(|category| json!({"category": category, "enabled": true}))
        .collect();
    let _ = write!(
        text,
        "\naz monitor diagnostic-settings create --name partition-key --workspace \"$WORKSPACE\" \\\n  --export-to-resource-specific true \\\n  --resource \"$(az cosmosdb show --resource-group \"$GROUP\" --name \"$ACCOUNT\" --query id --output tsv)\" \\\n  --logs {}\n",
        quote(&Value::from(logs).to_string())
    );
    text
}
