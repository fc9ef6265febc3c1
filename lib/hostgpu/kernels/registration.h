// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the application's start-up code registers: which host pointers stand for which kernels and variables.
#pragma once
#include <array>
#include <string>

#include "hostgpu/device/devices.h"
#include "hostgpu/kernels/program.h"

namespace mneme::hostgpu {

struct Function {
  Program* program = nullptr;
  std::string name;
  std::array<std::atomic<Kernel*>, kMostDevices> kernels{};  // by device, once it has been looked up
};

// A function of a module, which its own address stands for from now on.
Function& add_function(Program& program, const std::string& name);
// A variable of a module that `host` stands for from now on.
void add_symbol(const void* host, Program& program, const std::string& name, uint64_t size);
// The program at this address, if start-up code registered it; else null.
Program* registered_program(const void* program);
// The host function that stands for its kernel of this name; null: there is none.
const void* host_function_of(const Program& program, const std::string& name);
// Host pointers no longer stand for anything of this program.
void forget(Program& program);

// Throw HipError: hipErrorInvalidDeviceFunction, hipErrorInvalidSymbol for what is not registered.
Function& registered_function(const void* host);
// The kernel on the thread's device; HipError, with a message, when it has no IR.
Kernel& found_kernel(const void* host);
// The same with its code ready to run; HipError, with a message, when it cannot be compiled.
Kernel& ready_kernel(const void* host);

struct Symbol {
  void* address = nullptr;
  uint64_t size = 0;  // bytes
};
// Placed and filled, on the thread's device.
Symbol registered_symbol(const void* host);

}  // namespace mneme::hostgpu
