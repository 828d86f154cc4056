"""What is measured and how it is written down: records, columns, the recorder, the host.

It never submits, schedules or simulates, and does not know where its records are kept.
"""
