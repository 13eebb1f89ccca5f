"""What tests a backend's linear algebra: cases for ``tensor_runtime.testing.conformance``; imports no array library."""
