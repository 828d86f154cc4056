"""What must hold in every cluster whatever the scheduler, judged from the watch streams.

`watching.Watchdog` is told of changes and says what was broken; `table.RULES` are the rules. Nothing here knows how any
scheduler decides.
"""
