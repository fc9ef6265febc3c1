// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace mneme::capture {

// Where kernels run while the application is recorded. Either: those of CUDA programs on the GPU, others on the host.
enum class Device { kHost, kCuda, kHip, kEither };  // either: the host or NVIDIA's, as turns out

// What is added to the application's environment.
struct Surroundings {
  Device device = Device::kHost;
  std::string socket_name;                  // of the session; empty: run it unrecorded
  bool check_memory = false;                // kernels are compiled to check their accesses
  bool output_to_errors = false;            // its standard output becomes this process's standard error
  int devices = 1;                          // so many host devices
  bool keep_aslr = true;                    // else its memory lies where it lies each time
  std::vector<std::string> preloaded = {};  // stand-ins that the loader would not find first
  std::vector<std::string> checks = {};     // variables for the host device to check kernels by
  std::vector<std::string> applied = {};    // variables for the recorder to apply variants by; empty: it does not
};

// The signals that a user ends programs with, and the end of a child, as readable events. Blocks them in this thread
// and those it starts from then on, so it is made before any other thread.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int descriptor() const { return descriptor_.get(); }
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_{};
  Fd descriptor_;
};

// The application, running.
class Application {
 public:
  // Looked up in PATH. Throws Error when it cannot be started.
  Application(const std::vector<std::string>& command, const Surroundings& surroundings, const Signals& signals);

  // Waits for its end and returns what waitpid gave. A signal that somebody sent to this process alone is passed on;
  // one that came from the terminal has reached it already.
  int wait(const Signals& signals);

 private:
  pid_t process_ = 0;
};

// Waits until `descriptor` is readable or a signal to end comes; true: the latter.
bool interrupted_before(int descriptor, const Signals& signals);

// The folder of the stand-ins for vendors' libraries. Throws Error where the loader could not be told of it.
std::string stand_in_folder(Device device);

// The environment `variables` ("NAME=value") with the recorder and the stand-in for HIP put in front of the
// application's own choice of libraries.
std::vector<std::string> environment_with(std::vector<std::string> variables, const Surroundings& surroundings);

// An environment with variables more that say nothing, so that the stack begins where it does with another one:
// addresses of what lies there may be in kernels' arguments, and arguments tell launches apart.
std::vector<std::string> padded(std::vector<std::string> variables, const std::vector<std::string>& command);

}  // namespace mneme::capture
