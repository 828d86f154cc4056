"""Load: templates become workloads, which are sent at their times and kept on record. It measures nothing itself."""
