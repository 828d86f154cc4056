"""A dynamometer for Kubernetes schedulers."""

__version__ = "0.1.0.dev0"
