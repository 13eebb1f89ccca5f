"""Methods of decompositions that NumPy lacks, for one matrix: what drivers choose among."""
