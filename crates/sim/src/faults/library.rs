//! Built-in fault scripts F1 to F17, each reproducing a failure observed in other bots.

/// Names and TOML texts, in order.
pub(crate) const LIBRARY: [(&str, &str); 17] = [
    ("F1", include_str!("library/f01.toml")),
    ("F2", include_str!("library/f02.toml")),
    ("F3", include_str!("library/f03.toml")),
    ("F4", include_str!("library/f04.toml")),
    ("F5", include_str!("library/f05.toml")),
    ("F6", include_str!("library/f06.toml")),
    ("F7", include_str!("library/f07.toml")),
    ("F8", include_str!("library/f08.toml")),
    ("F9", include_str!("library/f09.toml")),
    ("F10", include_str!("library/f10.toml")),
    ("F11", include_str!("library/f11.toml")),
    ("F12", include_str!("library/f12.toml")),
    ("F13", include_str!("library/f13.toml")),
    ("F14", include_str!("library/f14.toml")),
    ("F15", include_str!("library/f15.toml")),
    ("F16", include_str!("library/f16.toml")),
    ("F17", include_str!("library/f17.toml")),
];
