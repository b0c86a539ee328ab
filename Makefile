# Builds the engine with link-time optimization, as OpenBench asks for it: make EXE=name EVALFILE=network
EXE      ?= knightwatch
# Network to embed in place of the one in the source.
EVALFILE ?=
PROFILE  ?= dist
# tune: search parameters as UCI options.
FEATURES ?=

TARGET = $(or $(CARGO_TARGET_DIR),target)
FOLDER = $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

.PHONY: all
all:
	EVALFILE="$(if $(EVALFILE),$(abspath $(EVALFILE)))" \
		cargo build --locked --profile $(PROFILE) --features "$(FEATURES)" --bin knightwatch
	install -m 755 $(FOLDER)/knightwatch $(EXE)
