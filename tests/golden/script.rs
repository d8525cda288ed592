//! Reading golden scripts, the files beside this one. The format is described in CONTRIBUTING.md.
//!
//! The engine's tests and `cargo xtask golden` both include this file, so that one corpus has one
//! reader. It knows nothing of JSON: values stay text.

/// One file: a container, its items, and queries with their answers.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The file's name without its ending.
    pub name: String,
    /// The container's definition, a JSON object without `id`.
    pub container: String,
    /// Items, in order of insertion.
    pub items: Vec<String>,
    /// Queries.
    pub cases: Vec<Case>,
}

/// A query and what it answers.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// The SQL text.
    pub query: String,
    /// Names with `@`, and values as JSON.
    pub parameters: Vec<(String, String)>,
    /// The partition key of the request, a JSON array.
    pub key: Option<String>,
    /// Members that the plan's `queryInfo` must have, a JSON object.
    pub plan: Option<String>,
    /// The charge of one page with all rows, of one range.
    pub charge: Option<f64>,
    /// SDKs whose own merge cannot run it over several ranges, and why.
    pub not_merged_by: Vec<(String, String)>,
    /// SDKs that ask for no plan where there is one range, and so are not refused there; and why.
    pub unplanned: Vec<(String, String)>,
    /// SDKs that cannot run it at all, and why.
    pub without: Vec<(String, String)>,
    /// How the rows are compared.
    pub order: Order,
    /// Rows as JSON; of an error, texts that its message contains.
    pub rows: Vec<String>,
    /// First and last line of the rows in the file, counted from 0, the last exclusive.
    pub lines: (usize, usize),
}

/// How rows are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As a multiset.
    #[default]
    Any,
    /// One by one.
    Exact,
    /// So many of the rows, none twice.
    Some(usize),
    /// The query is refused.
    Error,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Head,
    Container,
    Items,
    Query,
    Rows,
}

impl Script {
    /// Reads a script.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut script = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut section = Section::Head;
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: &str| format!("{name}:{}: {what}: {line}", number + 1);
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            match line {
                "[container]" => section = Section::Container,
                "[items]" => section = Section::Items,
                _ if line.starts_with("== ") => {
                    section = Section::Query;
                    script.cases.push(Case {
                        name: line[3..].trim().to_owned(),
                        ..Case::default()
                    });
                }
                _ if section == Section::Query && line.starts_with("----") => {
                    let case = script.cases.last_mut().ok_or_else(|| wrong("no query"))?;
                    case.order = order(line[4..].trim()).ok_or_else(|| wrong("what order"))?;
                    case.lines = (number + 1, number + 1);
                    section = Section::Rows;
                }
                _ => match section {
                    Section::Head => return Err(wrong("not in a section")),
                    Section::Container => script.container.push_str(line),
                    Section::Items => script.items.push(line.to_owned()),
                    Section::Query => {
                        let case = script.cases.last_mut().ok_or_else(|| wrong("no query"))?;
                        case.line(line).ok_or_else(|| wrong("not understood"))?;
                    }
                    Section::Rows => {
                        let case = script.cases.last_mut().ok_or_else(|| wrong("no query"))?;
                        case.rows.push(line.to_owned());
                        case.lines.1 = number + 1;
                    }
                },
            }
        }
        let unfinished = |case: &&Case| case.query.is_empty() || case.lines.0 == 0;
        match script.cases.iter().find(unfinished) {
            Some(case) => Err(format!("{name}: `{}` has no query or no ----", case.name)),
            None => Ok(script),
        }
    }

    /// All scripts of a folder, by name.
    pub fn load(folder: &std::path::Path) -> Result<Vec<Self>, String> {
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut scripts = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(told)? {
            let path = entry.map_err(told)?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if path.extension().is_some_and(|ending| ending == "txt") {
                let text = std::fs::read_to_string(&path).map_err(told)?;
                scripts.push(Self::parse(&name, &text)?);
            }
        }
        scripts.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(scripts)
    }
}

impl Case {
    /// A line between the name and the rows: a setting, a parameter, or a part of the query.
    fn line(&mut self, line: &str) -> Option<()> {
        let (word, value) = line.split_once(" = ").unwrap_or((line, ""));
        match word {
            "key" => self.key = Some(value.to_owned()),
            "plan" => self.plan = Some(value.to_owned()),
            "charge" => self.charge = Some(value.parse().ok()?),
            _ if word.starts_with("not ") => {
                let sdk = word["not ".len()..].to_owned();
                self.not_merged_by.push((sdk, value.to_owned()));
            }
            _ if word.starts_with("unplanned ") => {
                let sdk = word["unplanned ".len()..].to_owned();
                self.unplanned.push((sdk, value.to_owned()));
            }
            _ if word.starts_with("without ") => {
                let sdk = word["without ".len()..].to_owned();
                self.without.push((sdk, value.to_owned()));
            }
            _ if word.starts_with('@') => {
                self.parameters.push((word.to_owned(), value.to_owned()));
            }
            _ => {
                if !self.query.is_empty() {
                    self.query.push('\n');
                }
                self.query.push_str(line);
            }
        }
        Some(())
    }
}

fn order(word: &str) -> Option<Order> {
    Some(match word {
        "" => Order::Any,
        "ordered" => Order::Exact,
        "error" => Order::Error,
        _ => Order::Some(word.strip_suffix(" of")?.parse().ok()?),
    })
}
