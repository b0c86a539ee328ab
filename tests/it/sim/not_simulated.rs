//! The endpoints that the documentation lists as not simulated.

use reqwest::Method;

use super::site::Site;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/simulator.md");

/// The inline code `METHOD /path` of the section.
fn documented() -> Vec<(Method, String)> {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (_, section) = page.split_once("\n## Not simulated\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let code = section.split('`').skip(1).step_by(2);
    code.filter_map(|code| code.split_once(" /"))
        .map(|(method, path)| (method.parse().unwrap(), format!("/{path}")))
        .collect()
}

#[tokio::test]
async fn not_simulated_endpoints_are_unknown_paths() {
    let site = Site::start().await;
    let endpoints = documented();
    assert!(endpoints.len() > 10, "{endpoints:?}");
    for (method, path) in endpoints {
        let segments = path.split('/').map(|segment| match segment {
            _ if segment.starts_with('{') => "abcdefgh",
            _ => segment,
        });
        let url = segments.collect::<Vec<_>>().join("/");
        let request = site.request(method.clone(), "Anna", &url);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 404, "{method} {path}");
        let body = response.text().await.unwrap();
        assert!(body.contains("Page not found!"), "{method} {path}: {body}");
    }
}
