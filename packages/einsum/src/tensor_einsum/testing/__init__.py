"""What tests a backend's einsum: cases for ``tensor_runtime.testing.conformance``; imports no array library."""
