"""The page over all runs of a store: a static site that reads manifest, index and reports in the browser."""
