//! Wiring of the daemon: build everything, signals, systemd, two-stage stop.
