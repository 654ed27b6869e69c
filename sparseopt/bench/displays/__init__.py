"""Fields, tables and figures that suites and studies ask for, and their words."""
