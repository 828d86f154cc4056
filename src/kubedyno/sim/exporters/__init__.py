"""Exporters that are simulated: they read what kubelets tell and write NodeResourceTopology objects."""
