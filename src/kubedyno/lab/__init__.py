"""Composes what lies below into a lab: what was asked for, its plan, its start, the process that owns it, the runner.

Where results are kept is not known here: they go to a sink that is given.
"""
