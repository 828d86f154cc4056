"""What is kept: the run folder and its formats, and what other tools read.

It never measures; it writes down what it is given.
"""
