//! Code that computes a made key, in the languages of the SDKs: a function of strings, so that it
//! needs nothing but the language.

use super::{MadeKey, Plan};

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C#
    CSharp,
    /// Java
    Java,
    /// Python
    Python,
    /// JavaScript
    JavaScript,
    /// Go
    Go,
    /// Rust
    Rust,
}

/// All of them.
pub const LANGUAGES: [Language; 6] = [
    Language::CSharp,
    Language::Java,
    Language::Python,
    Language::JavaScript,
    Language::Go,
    Language::Rust,
];

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::CSharp => "C#",
            Self::Java => "Java",
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::Go => "Go",
            Self::Rust => "Rust",
        }
    }

    fn comment(self) -> &'static str {
        match self {
            Self::Python => "#",
            _ => "//",
        }
    }
}

/// The code in all languages, with a heading each.
pub(super) fn all(plan: &Plan) -> String {
    let paths = plan.paths.join(", ");
    let Some(made) = &plan.made else {
        return format!(
            "The key {} is made of members that items have: no code computes it.\nPartition key definition: paths {paths}, kind {}, version 2.\n",
            plan.title, plan.kind
        );
    };
    let mut text = format!(
        "The key {} is computed by the application and stored in {paths} of every item.\n",
        plan.title
    );
    for language in LANGUAGES {
        text.push_str("\n==== ");
        text.push_str(language.name());
        text.push_str(" ====\n");
        text.push_str(&function(made, language));
    }
    text
}

/// A path as a name of a variable.
fn variable(path: &str) -> String {
    let mut name = String::new();
    let mut starts_word = false;
    for letter in path.chars() {
        if !letter.is_ascii_alphanumeric() {
            starts_word = !name.is_empty();
        } else if starts_word {
            name.push(letter.to_ascii_uppercase());
            starts_word = false;
        } else {
            name.push(letter);
        }
    }
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        name.insert(0, 'v');
    }
    name
}

/// Names of one language's convention that are no words of the language.
fn names(made: &MadeKey, language: Language) -> Vec<String> {
    const WORDS: [&str; 30] = [
        "class", "type", "default", "for", "in", "is", "new", "public", "private", "return",
        "switch", "case", "int", "string", "object", "package", "import", "from", "func", "range",
        "map", "fn", "let", "mod", "ref", "self", "struct", "use", "where", "hash",
    ];
    let mut names: Vec<String> = Vec::new();
    for path in made.arguments() {
        let mut name = variable(path);
        if matches!(language, Language::Python | Language::Rust) {
            name = snake(&name);
        }
        if WORDS.contains(&name.as_str()) || names.contains(&name) {
            name.push_str("Value");
            if matches!(language, Language::Python | Language::Rust) {
                name = snake(&name);
            }
        }
        while names.contains(&name) {
            name.push('2');
        }
        names.push(name);
    }
    names
}

fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() && !text.ends_with('_') {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// A text between quotation marks, as all six languages read it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

/// What a language writes for a part, a join and a label.
struct Style {
    cut: fn(&str, usize) -> String,
    text_of_label: fn(&str) -> String,
    plus: &'static str,
}

/// The function in one language.
pub(super) fn function(made: &MadeKey, language: Language) -> String {
    let names = names(made, language);
    let arguments = made.arguments();
    let name_of = |path: &str| {
        let at = arguments.iter().position(|known| *known == path);
        at.map_or("", |at| names[at].as_str())
    };
    let style = style(language);
    let mut pieces: Vec<String> = Vec::new();
    for (at, part) in made.parts.iter().enumerate() {
        if at > 0 && !made.separator.is_empty() {
            pieces.push(quoted(&made.separator));
        }
        let name = name_of(&part.path);
        pieces.push(match part.cut {
            Some(cut) => (style.cut)(name, cut),
            None => name.to_owned(),
        });
    }
    let mut by = None;
    if let Some(label) = &made.label {
        if !made.separator.is_empty() {
            pieces.push(quoted(&made.separator));
        }
        pieces.push((style.text_of_label)("label"));
        by = Some((label, label.by.as_deref().map(name_of)));
    }
    let sum = if language == Language::Rust {
        let holes = "{}".repeat(pieces.len());
        format!("format!(\"{holes}\", {})", pieces.join(", "))
    } else {
        // An empty text first makes every language add texts.
        pieces.join(style.plus)
    };
    let heading = format!(
        "{} The partition key of an item, from {}.\n",
        language.comment(),
        arguments.join(", ")
    );
    heading + &body(language, &names, by, &sum)
}

fn style(language: Language) -> Style {
    match language {
        Language::CSharp => Style {
            cut: |name, cut| format!("{name}.Substring(0, System.Math.Min({cut}, {name}.Length))"),
            text_of_label: |label| {
                format!("{label}.ToString(System.Globalization.CultureInfo.InvariantCulture)")
            },
            plus: " + ",
        },
        Language::Java => Style {
            cut: |name, cut| format!("{name}.substring(0, Math.min({cut}, {name}.length()))"),
            text_of_label: |label| format!("Long.toString({label})"),
            plus: " + ",
        },
        Language::Python => Style {
            cut: |name, cut| format!("{name}[:{cut}]"),
            text_of_label: |label| format!("str({label})"),
            plus: " + ",
        },
        Language::JavaScript => Style {
            cut: |name, cut| format!("{name}.slice(0, {cut})"),
            text_of_label: |label| format!("String({label})"),
            plus: " + ",
        },
        Language::Go => Style {
            cut: |name, cut| format!("{name}[:min({cut}, len({name}))]"),
            text_of_label: |label| format!("strconv.FormatUint({label}, 10)"),
            plus: " + ",
        },
        Language::Rust => Style {
            cut: |name, cut| format!("{name}.chars().take({cut}).collect::<String>()"),
            text_of_label: str::to_owned,
            plus: ", ",
        },
    }
}

type LabelBy<'a> = Option<(&'a super::Label, Option<&'a str>)>;

fn body(language: Language, names: &[String], by: LabelBy<'_>, sum: &str) -> String {
    let list =
        |each: &dyn Fn(&String) -> String| names.iter().map(each).collect::<Vec<_>>().join(", ");
    match language {
        Language::CSharp => {
            let label = match by {
                None => String::new(),
                Some((label, Some(name))) => format!(
                    "        uint hash = 0x811c9dc5;\n        foreach (byte octet in System.Text.Encoding.UTF8.GetBytes({name}))\n        {{\n            hash = unchecked((hash ^ octet) * 0x01000193);\n        }}\n        ulong label = {}UL + hash % {}UL;\n",
                    label.start, label.buckets
                ),
                Some((label, None)) => format!(
                    "        long label = System.Random.Shared.NextInt64({}L, {}L);\n",
                    label.start,
                    label.start + label.buckets
                ),
            };
            format!(
                "public static class PartitionKeys\n{{\n    public static string PartitionKeyOf({})\n    {{\n{label}        return {sum};\n    }}\n}}\n",
                list(&|name| format!("string {name}"))
            )
        }
        Language::Java => {
            let label = match by {
                None => String::new(),
                Some((label, Some(name))) => format!(
                    "        int hash = 0x811c9dc5;\n        for (byte octet : {name}.getBytes(java.nio.charset.StandardCharsets.UTF_8)) {{\n            hash = (hash ^ (octet & 0xff)) * 0x01000193;\n        }}\n        long label = {}L + Integer.toUnsignedLong(hash) % {}L;\n",
                    label.start, label.buckets
                ),
                Some((label, None)) => format!(
                    "        long label = java.util.concurrent.ThreadLocalRandom.current().nextLong({}L, {}L);\n",
                    label.start,
                    label.start + label.buckets
                ),
            };
            format!(
                "final class PartitionKeys {{\n    static String partitionKeyOf({}) {{\n{label}        return {sum};\n    }}\n}}\n",
                list(&|name| format!("String {name}"))
            )
        }
        Language::Python => {
            let label = match by {
                None => String::new(),
                Some((label, Some(name))) => format!(
                    "    value = 0x811C9DC5\n    for octet in {name}.encode(\"utf-8\"):\n        value = ((value ^ octet) * 0x01000193) & 0xFFFFFFFF\n    label = {} + value % {}\n",
                    label.start, label.buckets
                ),
                Some((label, None)) => format!(
                    "    import random\n\n    label = random.randrange({}, {})\n",
                    label.start,
                    label.start + label.buckets
                ),
            };
            format!(
                "def partition_key_of({}) -> str:\n{label}    return {sum}\n",
                list(&|name| format!("{name}: str"))
            )
        }
        Language::JavaScript => {
            let label = match by {
                None => String::new(),
                Some((label, Some(name))) => format!(
                    "  let hash = 0x811c9dc5;\n  for (const octet of new TextEncoder().encode({name})) {{\n    hash = Math.imul(hash ^ octet, 0x01000193) >>> 0;\n  }}\n  const label = {} + (hash % {});\n",
                    label.start, label.buckets
                ),
                Some((label, None)) => format!(
                    "  const label = {} + Math.floor(Math.random() * {});\n",
                    label.start, label.buckets
                ),
            };
            format!(
                "export function partitionKeyOf({}) {{\n{label}  return {sum};\n}}\n",
                list(&|name| name.clone())
            )
        }
        Language::Go => {
            let (imports, label) = match by {
                None => ("", String::new()),
                Some((label, Some(name))) => (
                    "import (\n\t\"hash/fnv\"\n\t\"strconv\"\n)\n\n",
                    format!(
                        "\tdigest := fnv.New32a()\n\tdigest.Write([]byte({name}))\n\tlabel := uint64({}) + uint64(digest.Sum32())%{}\n",
                        label.start, label.buckets
                    ),
                ),
                Some((label, None)) => (
                    "import (\n\t\"math/rand/v2\"\n\t\"strconv\"\n)\n\n",
                    format!(
                        "\tlabel := uint64({}) + rand.Uint64N({})\n",
                        label.start, label.buckets
                    ),
                ),
            };
            format!(
                "package keys\n\n{imports}func PartitionKeyOf({} string) string {{\n{label}\treturn {sum}\n}}\n",
                list(&|name| name.clone())
            )
        }
        Language::Rust => {
            let label = match by {
                None => String::new(),
                Some((label, Some(name))) => format!(
                    "    let hash = {name}\n        .bytes()\n        .fold(0x811c_9dc5_u32, |hash, octet| (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193));\n    let label = {}_u64 + u64::from(hash) % {};\n",
                    label.start, label.buckets
                ),
                Some((label, None)) => format!(
                    "    // Randomly keyed by the standard library; take your own generator if you have one.\n    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::default(), 0_u8);\n    let label = {}_u64 + random % {};\n",
                    label.start, label.buckets
                ),
            };
            format!(
                "pub fn partition_key_of({}) -> String {{\n{label}    {sum}\n}}\n",
                list(&|name| format!("{name}: &str"))
            )
        }
    }
}
