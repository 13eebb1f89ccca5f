"""Rules for the family's operations, found by entry points."""
