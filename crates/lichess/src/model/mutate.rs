//! Mutation of JSON values for tests.

use serde_json::{Value, json};

/// Every field of a value, and each of their parts, in turn removed or replaced, except those at the JSON pointers `but`.
/// With a description of the mutation.
pub(super) fn mutations(of: &Value, but: &[&str]) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    visit(of, "", &mut places);
    let instead = [
        Value::Null,
        json!(true),
        json!(7),
        json!(-1.5),
        json!(1e300),
        json!(""),
        json!("text"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"a": 1}),
    ];
    let mut all = Vec::new();
    for place in places.iter().filter(|place| !but.contains(&place.as_str())) {
        for other in &instead {
            let mut mutation = of.clone();
            *mutation.pointer_mut(place).expect("a place in it") = other.clone();
            all.push((format!("{place} is {other}"), mutation));
        }
        let (parent, key) = place.rsplit_once('/').expect("not the root");
        let mut mutation = of.clone();
        if let Some(Value::Object(parent)) = mutation.pointer_mut(parent) {
            parent.remove(key);
            all.push((format!("{place} is missing"), mutation));
        }
    }
    all
}

fn visit(value: &Value, place: &str, places: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, it)| (n.to_string(), it))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let place = format!("{place}/{key}");
        visit(child, &place, places);
        places.push(place);
    }
}

/// The lines of a fixture that contain `words`.
pub(super) fn values(fixture: &'static str, words: &str) -> Vec<Value> {
    let lines = fixture.lines().filter(|line| line.contains(words));
    let values: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    assert!(!values.is_empty(), "{words}");
    values
}
