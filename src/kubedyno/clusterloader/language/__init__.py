"""From files to a config: templates, YAML, modules, overrides, suites."""
