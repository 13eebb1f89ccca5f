"""What several backends share beside tables of kernels: a library for backends, imported by them alone."""
