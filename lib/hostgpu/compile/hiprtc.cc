// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that the application compiles while it runs.
#include "hostgpu/hip.h"  // first: it says which platform

#include <hip/hiprtc.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "hostgpu/compile/runtime_compiler.h"
#include "hostgpu/errors.h"

struct _hiprtcProgram {
  mneme::hostgpu::RuntimeSource source;
  mneme::hostgpu::RuntimeCode made;
  bool tried = false;
};

namespace mneme::hostgpu {
namespace {

struct Programs {
  std::mutex mutex;
  std::set<hiprtcProgram> live;
};

// Never destroyed: programs are destroyed from destructors that run last.
Programs& programs() {
  static auto* all = new Programs;
  return *all;
}

bool exists(hiprtcProgram program) {
  std::lock_guard lock(programs().mutex);
  return programs().live.count(program) != 0;
}

// As the options of compilers name it: without the features that follow a colon.
std::string architecture() {
  hipDeviceProp_t properties;
  int device = 0;
  if (hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&properties, device) != hipSuccess) return "gfx90a";
  std::string name = properties.gcnArchName;
  return name.substr(0, name.find(':'));
}

// The body of a function on a program that exists.
template <class Body>
hiprtcResult on(hiprtcProgram program, Body&& body) noexcept {
  try {
    return exists(program) ? body() : HIPRTC_ERROR_INVALID_PROGRAM;
  } catch (const std::bad_alloc&) {
    return HIPRTC_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    say(error.what());
    return HIPRTC_ERROR_INTERNAL_ERROR;
  }
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

#pragma GCC visibility push(default)
extern "C" {

hiprtcResult hiprtcVersion(int* major, int* minor) {
  if (!major || !minor) return HIPRTC_ERROR_INVALID_INPUT;
  *major = 9;  // as AMD's library answers
  *minor = 0;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name, int count,
                                 const char** headers, const char** names) {
  if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
  if (!source || count < 0 || (count && (!headers || !names))) return HIPRTC_ERROR_INVALID_INPUT;
  auto made = std::make_unique<_hiprtcProgram>();
  made->source.source = source;
  made->source.name = name && *name ? name : "default_program";
  for (int i = 0; i < count; ++i) {
    if (!headers[i] || !names[i]) return HIPRTC_ERROR_INVALID_INPUT;
    made->source.headers[names[i]] = headers[i];
  }
  std::lock_guard lock(programs().mutex);
  *program = *programs().live.insert(made.release()).first;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) {
  if (!program) return HIPRTC_ERROR_INVALID_INPUT;
  {
    std::lock_guard lock(programs().mutex);
    if (!programs().live.erase(*program)) return HIPRTC_ERROR_INVALID_PROGRAM;
  }
  delete *program;
  *program = nullptr;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char* expression) {
  return on(program, [&] {
    if (!expression) return HIPRTC_ERROR_INVALID_INPUT;
    if (program->tried) return HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program->source.expressions.emplace_back(expression);
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char** options) {
  return on(program, [&] {
    if (count < 0 || (count && !options)) return HIPRTC_ERROR_INVALID_INPUT;
    program->source.options.clear();
    for (int i = 0; i < count; ++i) {
      if (!options[i]) return HIPRTC_ERROR_INVALID_OPTION;
      program->source.options.emplace_back(options[i]);
    }
    program->source.architecture = architecture();
    program->tried = true;
    program->made = compile_at_runtime(program->source);
    return program->made.compiled ? HIPRTC_SUCCESS : HIPRTC_ERROR_COMPILATION;
  });
}

hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** name) {
  return on(program, [&] {
    if (!expression || !name) return HIPRTC_ERROR_INVALID_INPUT;
    if (!program->made.compiled) return HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    auto found = program->made.symbols.find(expression);
    if (found == program->made.symbols.end() || found->second.empty()) return HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *name = found->second.c_str();
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* size) {
  return on(program, [&] {
    if (!size) return HIPRTC_ERROR_INVALID_INPUT;
    *size = program->made.log.empty() ? 0 : program->made.log.size() + 1;
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log) {
  return on(program, [&] {
    if (!log) return HIPRTC_ERROR_INVALID_INPUT;
    std::strcpy(log, program->made.log.c_str());
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* size) {
  return on(program, [&] {
    if (!size) return HIPRTC_ERROR_INVALID_INPUT;
    *size = program->made.code.size();
    return HIPRTC_SUCCESS;
  });
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code) {
  return on(program, [&] {
    if (!code) return HIPRTC_ERROR_INVALID_INPUT;
    std::memcpy(code, program->made.code.data(), program->made.code.size());
    return HIPRTC_SUCCESS;
  });
}

const char* hiprtcGetErrorString(hiprtcResult result) {
  constexpr const char* kNames[] = {"HIPRTC_SUCCESS",
                                    "HIPRTC_ERROR_OUT_OF_MEMORY",
                                    "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                    "HIPRTC_ERROR_INVALID_INPUT",
                                    "HIPRTC_ERROR_INVALID_PROGRAM",
                                    "HIPRTC_ERROR_INVALID_OPTION",
                                    "HIPRTC_ERROR_COMPILATION",
                                    "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                    "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                    "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                    "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                    "HIPRTC_ERROR_INTERNAL_ERROR"};
  return result >= 0 && result <= HIPRTC_ERROR_INTERNAL_ERROR ? kNames[result] : "Invalid HIPRTC error code";
}

}  // extern "C"
#pragma GCC visibility pop
