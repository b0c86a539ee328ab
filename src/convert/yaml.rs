//! YAML as a list of keys with values, in bounded memory.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

/// Upper limit of nested lists and maps.
const MAX_DEPTH: usize = 32;

/// Upper limit of values, those of aliases included.
const MAX_NODES: usize = 5_000;

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// The keys that lead to it, joined by dots.
    pub path: String,
    /// Line of the key, from 1.
    pub line: usize,
    pub value: Value,
}

/// The value of a key that contains no other keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Nothing, or an empty list or map.
    Empty,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

/// A place in the file and what is wrong there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub line: usize,
    pub message: String,
}

#[derive(Clone, Debug)]
enum Node {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(String, usize, Node)>),
}

/// A list or map that is being read.
struct Open {
    anchor: usize,
    node: Node,
    /// The key of the next value of a map, with its line.
    key: Option<(String, usize)>,
}

/// Reads the first document of a text.
///
/// # Errors
/// When it is not valid YAML, not a map, or has too many values.
pub(super) fn read(text: &str) -> Result<Vec<Leaf>, SyntaxError> {
    let Node::Map(entries) = Builder::default().build(text)? else {
        return Err(SyntaxError {
            line: 1,
            message: "the file has no keys with values".to_owned(),
        });
    };
    let mut leaves = Vec::new();
    flatten("", entries, &mut leaves);
    Ok(leaves)
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl Builder {
    fn build(mut self, text: &str) -> Result<Node, SyntaxError> {
        let mut line = 1;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| SyntaxError {
                line: error.marker().line().max(1),
                message: format!("not valid YAML: {}", error.info()),
            })?;
            line = span.start.line().max(1);
            let too_much = |message: &str| SyntaxError {
                line,
                message: message.to_owned(),
            };
            let (anchor, node) = match event {
                Event::SequenceStart(anchor, _) => {
                    self.begin(anchor, Node::List(Vec::new()));
                    (0, None)
                }
                Event::MappingStart(anchor, _) => {
                    self.begin(anchor, Node::Map(Vec::new()));
                    (0, None)
                }
                Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                    Some(open) => (open.anchor, Some(open.node)),
                    None => (0, None),
                },
                Event::Scalar(text, style, anchor, tag) => {
                    let value = scalar(&text, style, tag.as_deref());
                    (anchor, Some(Node::Scalar(value)))
                }
                Event::Alias(anchor) => {
                    let node = self.anchors.get(&anchor).cloned();
                    (0, Some(node.unwrap_or(Node::Scalar(Value::Empty))))
                }
                Event::DocumentEnd | Event::StreamEnd => break,
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => (0, None),
            };
            if self.open.len() > MAX_DEPTH {
                return Err(too_much("lists and maps are nested too deeply"));
            }
            let Some(node) = node else { continue };
            self.nodes += size(&node);
            if self.nodes > MAX_NODES {
                return Err(too_much("the file has too many values"));
            }
            if anchor > 0 {
                self.nodes += size(&node);
                self.anchors.insert(anchor, node.clone());
            }
            let Some(open) = self.open.last_mut() else {
                return Ok(node);
            };
            open.add(node, line);
        }
        Err(SyntaxError {
            line,
            message: "the file is empty".to_owned(),
        })
    }

    fn begin(&mut self, anchor: usize, node: Node) {
        self.open.push(Open {
            anchor,
            node,
            key: None,
        });
    }
}

impl Open {
    fn add(&mut self, node: Node, line: usize) {
        match &mut self.node {
            Node::List(items) => items.push(node),
            Node::Map(entries) => match self.key.take() {
                None => {
                    let key = match node {
                        Node::Scalar(value) => value.to_string(),
                        Node::List(_) | Node::Map(_) => "?".to_owned(),
                    };
                    self.key = Some((key, line));
                }
                Some((key, _)) if key == "<<" => {
                    if let Node::Map(others) = node {
                        for other in others {
                            if !entries.iter().any(|entry| entry.0 == other.0) {
                                entries.push(other);
                            }
                        }
                    }
                }
                // The last one counts, as for the peers.
                Some((key, line)) => {
                    entries.retain(|entry| entry.0 != key);
                    entries.push((key, line, node));
                }
            },
            Node::Scalar(_) => {}
        }
    }
}

/// Number of values in a node.
fn size(node: &Node) -> usize {
    match node {
        Node::Scalar(_) => 1,
        Node::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Node::Map(entries) => 1 + entries.iter().map(|entry| size(&entry.2)).sum::<usize>(),
    }
}

fn flatten(prefix: &str, entries: Vec<(String, usize, Node)>, leaves: &mut Vec<Leaf>) {
    for (key, line, node) in entries {
        let path = match prefix {
            "" => key,
            prefix => format!("{prefix}.{key}"),
        };
        match node {
            Node::Map(entries) if !entries.is_empty() => flatten(&path, entries, leaves),
            node => leaves.push(Leaf {
                path,
                line,
                value: value_of(node),
            }),
        }
    }
}

fn value_of(node: Node) -> Value {
    match node {
        Node::Scalar(value) => value,
        Node::Map(_) => Value::Empty,
        Node::List(items) if items.is_empty() => Value::Empty,
        Node::List(items) => Value::List(items.into_iter().map(value_of).collect()),
    }
}

/// The value of a scalar, by the rules of YAML 1.1, which the peers use.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let own = || Value::Text(text.to_owned());
    if style != ScalarStyle::Plain || tag.is_some() {
        return own();
    }
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "" | "~" | "null" => return Value::Empty,
        "true" | "yes" | "on" => return Value::Bool(true),
        "false" | "no" | "off" => return Value::Bool(false),
        ".inf" | "+.inf" => return Value::Float(f64::INFINITY),
        "-.inf" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let digits = lower.replace('_', "");
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    if !is_number {
        return own();
    }
    match (digits.parse(), digits.parse::<f64>()) {
        (Ok(number), _) => Value::Int(number),
        (_, Ok(number)) if number.is_finite() => Value::Float(number),
        _ => own(),
    }
}

impl Value {
    /// The texts of a list, or of a single value.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Empty => Vec::new(),
            Self::List(items) => {
                let items = items.iter();
                let items = items.filter(|item| !matches!(item, Self::Empty | Self::List(_)));
                items.map(ToString::to_string).collect()
            }
            value => vec![value.to_string()],
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) if value.is_infinite() => f.write_str(".inf"),
            Self::Float(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::List(_) => f.write_str(&self.texts().join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<(String, usize, Value)> {
        let leaves = read(text).unwrap().into_iter();
        leaves
            .map(|leaf| (leaf.path, leaf.line, leaf.value))
            .collect()
    }

    #[test]
    fn leaves_have_path_line_and_value() {
        let text = "a: 1\nb:\n  c: 'x' # y\n  d: [1.5, no, .inf]\ne:\n3check: 1+1\n";
        let list = [
            Value::Float(1.5),
            Value::Bool(false),
            Value::Float(f64::INFINITY),
        ];
        let expected = [
            ("a", 1, Value::Int(1)),
            ("b.c", 3, Value::Text("x".into())),
            ("b.d", 4, Value::List(list.into())),
            ("e", 5, Value::Empty),
            ("3check", 6, Value::Text("1+1".into())),
        ];
        let expected = expected.map(|(path, line, value)| (path.to_owned(), line, value));
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn aliases_and_merge_keys_are_resolved() {
        let text = "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n";
        let found: Vec<_> = paths(text)
            .into_iter()
            .map(|(path, _, v)| (path, v))
            .collect();
        assert_eq!(found[2], ("d.b".to_owned(), Value::Int(1)));
        assert_eq!(found[3], ("d.c".to_owned(), Value::Int(3)));
    }

    #[test]
    fn alias_bombs_and_deep_nesting_are_rejected() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..30 {
            let alias = format!("*a{}", n - 1);
            bomb += &format!("a{n}: &a{n} [{}]\n", vec![alias; 8].join(", "));
        }
        assert_eq!(
            read(&bomb).unwrap_err().message,
            "the file has too many values"
        );
        for deep in [
            "[".repeat(100_000),
            "{a: ".repeat(100_000),
            "- ".repeat(100_000),
        ] {
            read(&format!("a:\n  {deep}")).unwrap_err();
        }
    }

    #[test]
    fn syntax_errors_name_the_line() {
        let error = read("a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
        assert!(
            error.line >= 2 && error.message.starts_with("not valid YAML: "),
            "{error:?}"
        );
        for (text, message) in [
            ("", "the file is empty"),
            ("x", "the file has no keys with values"),
        ] {
            assert_eq!(read(text).unwrap_err().message, message);
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic() {
        let seeds = [
            "a: &x [*x, {b: 'c'}]\n- d\n? e\n: !!str f\n",
            "\t\0%@`|>\n--- &a\n...\n",
        ];
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..2_000 {
            let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let _ = read(&String::from_utf8_lossy(&bytes));
        }
    }
}
