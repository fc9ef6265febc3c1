# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls CUDA's driver, as Python extensions do. The argument names a module."""

import ctypes
import sys

driver = ctypes.CDLL("libcuda.so.1")
COUNT = 1000


def call(name, *arguments):
    if status := getattr(driver, name)(*arguments):
        sys.exit(f"{name}: {status}")


context, module, function, data = (ctypes.c_void_p() for _ in range(4))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoad", ctypes.byref(module), sys.argv[1].encode())
call("cuModuleGetFunction", ctypes.byref(function), module, b"scale")
call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(4 * COUNT))
numbers = (ctypes.c_int * COUNT)(*range(COUNT))
call("cuMemcpyHtoD_v2", data, numbers, ctypes.c_size_t(4 * COUNT))
by, count = ctypes.c_int(5), ctypes.c_uint(COUNT)
arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in [data, by, count]))
call("cuLaunchKernel", function, 8, 1, 1, 128, 1, 1, 0, None, arguments, None)
call("cuMemcpyDtoH_v2", numbers, data, ctypes.c_size_t(4 * COUNT))
assert list(numbers) == [5 * each for each in range(COUNT)]
print("ctypes: ok")
