"""Contractions in the algebras of ``tensor_runtime.algebras``."""
