"""Pictures and tables of what was measured, for people and for spreadsheets."""
