// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses of device functions as data: what a pointer to a function is, in memory and in arguments.
//
// On the host device it is a number made of the function's name alone. What NVIDIA's assembler makes of a program is a
// place in a table of the kernel's, 8 for the first function whose address is taken, 16 for the next, and so on:
// nothing that could be told from other numbers in memory, and replaced. So a kernel's recording says what they were
// (KernelInfo::function_addresses), and code for it has the same (codegen/nvptx/numbered_functions.h, codegen/host).
// mneme-inject learns them from variables, one a function, when it builds the program.
//
// In relocatable code, and in code for debuggers, it is the place that the loader gave the function, as on AMD's GPUs.
// The program has such variables then (ir/address_variable.h), and the recorder asks for what they hold. Code for
// NVIDIA's GPUs has the same addresses (codegen/nvptx/looked_up_functions.h). On AMD's the replay finds out where its
// own functions are, and translates what memory holds.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bundle/format.h"

namespace mneme::objects {

// Of the host device: where no memory ever is (memory/arena.h and what Linux does leave it out), a multiple of 16.
inline constexpr uint64_t kFunctionsBegin = 0x6f0000000000;
inline constexpr uint64_t kFunctionsEnd = 0x700000000000;
uint64_t function_address(std::string_view name);

// Whether it is a place in the table of NVIDIA's assembler. Other addresses on a GPU, those of relocatable code and of
// code for debuggers, are the loader's, and other ones in each process.
inline constexpr uint64_t kPlaceStep = 8;
inline constexpr uint64_t kMostPlaces = 4096;  // that are made use of
constexpr bool is_place(uint64_t address) {
  return address != 0 && address % kPlaceStep == 0 && address / kPlaceStep <= kMostPlaces;
}

// What it is in the program that was recorded; 0: that is not known.
uint64_t recorded_address(const bundle::KernelInfo& kernel, std::string_view name);

// What stands for it in recorded memory: that, or what the host device made of its name.
uint64_t recorded_or_made_address(const bundle::KernelInfo& kernel, std::string_view name);

// The name of the variable, 8 bytes in device memory, that holds the address of a function.
std::string address_symbol(std::string_view function);

// A variable that says of an application's code object for AMD's GPUs that all of its variables that kernels may be led
// to are exported, and that a function without such a variable is none that memory could point to.
inline constexpr char kExposedSymbol[] = "__mneme_exposed";

}  // namespace mneme::objects
