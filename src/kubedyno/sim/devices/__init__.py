"""The devices of simulated nodes: what nodes have, how it is shown to schedulers, and what its metrics tell."""
