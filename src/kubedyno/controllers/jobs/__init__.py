"""Jobs: which pods to create and delete, how finished pods are counted exactly once, when a Job is over."""
