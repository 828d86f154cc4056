"""Structured logs: a constant message plus key=value pairs, on standard error."""

import logging
import sys

import structlog


def configure(*, debug: bool = False) -> None:
    """Set up logging for a process; warnings and above unless `debug`."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if debug else logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def get(component: str) -> structlog.typing.FilteringBoundLogger:
    """A logger bound to the component that speaks."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(component=component)
    return logger
