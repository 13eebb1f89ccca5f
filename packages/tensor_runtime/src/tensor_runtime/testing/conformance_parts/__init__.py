"""Parts of the conformance suite: memory and devices, facts of kernels, kernels that run as one."""
