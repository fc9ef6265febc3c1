// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file of a recording that is a program: an executable, a header, a bundle, and code on demand (on_demand.h) up to
// the file's end. The executable finds the header behind its own last byte.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace mneme::restore {

inline constexpr char kProgramPart[] = "mneme-replay";  // of an installation: the executable (replay_main.cc)

// Begins such a file, an empty one that is open for writing: with the executable, and room for the header. The bundle
// is to be written next. Throws Error.
void begin_program(int file, const std::string& name, const std::string& executable);

// Where things are in such a file; each begins where the one before it ends.
struct ProgramParts {
  uint64_t bundle = 0, on_demand = 0, end = 0;  // bytes from the file's start
};

// After the bundle: writes what comes behind it, and the header, and makes the file executable by all who may read it;
// what is cut off before has no header. Throws Error.
ProgramParts end_program(int file, const std::string& name, std::string_view on_demand);

// In the program: checks the file as a whole, and has the descriptor, open for reading, stand where the bundle begins.
// Throws Error, with what became of the file.
ProgramParts seek_bundle(int file, const std::string& name);

// What end_program() was given.
std::string on_demand_of(int file, const std::string& name, const ProgramParts& parts);

}  // namespace mneme::restore
