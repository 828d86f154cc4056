"""Randomness as a parameter: one seed per run, one independent stream per purpose."""

import hashlib
import random


def stream(seed: int, purpose: str) -> random.Random:
    """A generator that depends on the seed and the purpose only.

    Derived with SHA-256, not with `hash()`: equal in processes with different hash seeds.
    """
    digest = hashlib.sha256(f"{seed}:{purpose}".encode()).digest()
    return random.Random(int.from_bytes(digest[:16], "big"))  # noqa: S311 - simulation, not secrets
