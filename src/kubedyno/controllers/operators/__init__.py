"""Operators that are simulated: they make of their kinds' objects what the real ones would make of them."""
