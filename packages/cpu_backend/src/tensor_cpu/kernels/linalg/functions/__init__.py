"""Functions of square matrices: exponentials and square roots."""
