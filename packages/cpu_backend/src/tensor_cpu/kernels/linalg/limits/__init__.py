"""Matrices near the limits of binary64: powers of two that take them away from there, and back."""
