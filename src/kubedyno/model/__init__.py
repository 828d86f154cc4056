"""What several upper packages must agree on, as pure data: settings with their evidence, workload intent."""
