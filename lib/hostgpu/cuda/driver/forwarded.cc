// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/driver/runtime.h"

using namespace mneme::hostgpu::cuda::driver;

#define P(function, i, name) Parameter<function, i> name
#define PARAMETERS_0(f)
#define PARAMETERS_1(f) P(f, 0, a)
#define PARAMETERS_2(f) PARAMETERS_1(f), P(f, 1, b)
#define PARAMETERS_3(f) PARAMETERS_2(f), P(f, 2, c)
#define PARAMETERS_4(f) PARAMETERS_3(f), P(f, 3, d)
#define PARAMETERS_5(f) PARAMETERS_4(f), P(f, 4, e)
#define PARAMETERS_6(f) PARAMETERS_5(f), P(f, 5, g)
#define PARAMETERS_7(f) PARAMETERS_6(f), P(f, 6, h)
#define PARAMETERS_8(f) PARAMETERS_7(f), P(f, 7, i)
#define ARGUMENTS_0
#define ARGUMENTS_1 a
#define ARGUMENTS_2 ARGUMENTS_1, b
#define ARGUMENTS_3 ARGUMENTS_2, c
#define ARGUMENTS_4 ARGUMENTS_3, d
#define ARGUMENTS_5 ARGUMENTS_4, e
#define ARGUMENTS_6 ARGUMENTS_5, g
#define ARGUMENTS_7 ARGUMENTS_6, h
#define ARGUMENTS_8 ARGUMENTS_7, i

#define FORWARD(count, name, call, like) \
  Result name(PARAMETERS_##count(like)) { return (call)(ARGUMENTS_##count); }
#define CALL(count, name, function)                      \
  static_assert(Signature<function>::kCount == (count)); \
  FORWARD(count, name, forward<function>, function)
#define ON_STREAM(count, name, function) \
  CALL(count, name, function)            \
  FORWARD(count, name##_ptsz, forward_by_thread<function>, function)
#define SYNCHRONOUS(count, name, function, queued) \
  CALL(count, name, function)                      \
  FORWARD(count, name##_ptds, forward_and_wait<queued>, function)

extern "C" {
#include "hostgpu/cuda/driver/forwarded.def"
}
