"""Programs on foreign libraries, on our tensors and beside NumPy's arrays; pytest runs them."""
