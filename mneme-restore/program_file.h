// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file of a recording that is a program: an executable, a header, and a bundle up to the file's end. The executable
// finds the header behind its own last byte.
#pragma once
#include <cstdint>
#include <string>

namespace mneme::restore {

inline constexpr char kProgramPart[] = "mneme-replay";  // of an installation: the executable (replay_main.cc)

// Begins such a file, an empty one that is open for writing: with the executable, and room for the header. The bundle
// is to be written next. Throws Error.
void begin_program(int file, const std::string& name, const std::string& executable);

// After the bundle: writes the header and makes the file executable by all who may read it; what is cut off before has
// no header. Throws Error.
struct ProgramSize {
  uint64_t executable = 0, bundle = 0;  // bytes
};
ProgramSize end_program(int file, const std::string& name);

// In the program: checks the file as a whole, and has the descriptor, open for reading, stand where the bundle begins,
// which goes on to the file's end. Throws Error, with what became of the file.
void seek_bundle(int file, const std::string& name);

}  // namespace mneme::restore
