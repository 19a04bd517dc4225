"""Our policies beside published schedules and recorded runs: docs/conformance.md."""
