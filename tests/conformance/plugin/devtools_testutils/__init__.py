"""Stands in for the SDK repository's own helper package, which is not published."""
