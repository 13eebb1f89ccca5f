"""Devices of CUDA, reached by CuPy: ``tensor_gpu.cuda.cupy_api`` alone imports it, when a device is asked for."""
