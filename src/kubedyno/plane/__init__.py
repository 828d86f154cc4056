"""The engines: programs found or built, PKI, process supervision.

It starts what it is given; it knows no scheduler by name.
"""
