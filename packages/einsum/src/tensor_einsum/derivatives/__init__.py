"""Derivatives of a network: a sweep from the root of a plan's tree to its leaves, planned as data and then run."""
