// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "application.h"

#include <poll.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/process.h"
#include "recorder/link/protocol.h"

extern char** environ;

namespace mneme::capture {
namespace {

// NAME=value, in front of what the variable holds, if anything.
void prepend(std::vector<std::string>& variables, const std::string& name, const std::string& value) {
  std::string start = name + "=";
  for (std::string& variable : variables) {
    if (!variable.starts_with(start)) continue;
    std::string rest = variable.substr(start.size());
    variable = start + value + (rest.empty() ? "" : ":" + rest);
    return;
  }
  variables.push_back(start + value);
}

// A file for a list whose separators cannot be escaped.
std::string listable(const std::string& path) {
  if (path.find_first_of(" :;") == std::string::npos) return path;
  throw Error::of(Exit::kMissing,
                  "the loader cannot preload '{}': install Mneme where the path has no space, colon or semicolon",
                  path);
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  return variables;
}

// The next signal; nullopt if none is waiting.
std::optional<signalfd_siginfo> next_signal(const Signals& signals) {
  signalfd_siginfo info{};
  ssize_t size = ::read(signals.descriptor(), &info, sizeof info);
  if (size != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return info;
}

void wait_for(std::vector<pollfd> descriptors) {
  if (::poll(descriptors.data(), descriptors.size(), -1) < 0 && errno != EINTR) {
    throw system_error("cannot wait for the application");
  }
}

// While it lives, what this thread starts has no address-space layout randomisation. Where that is forbidden, as some
// containers do, it has.
class SameAddresses {
 public:
  explicit SameAddresses(bool wanted) : before_(::personality(kQuery)) {
    changed_ = wanted && before_ >= 0 && ::personality(static_cast<unsigned>(before_) | ADDR_NO_RANDOMIZE) >= 0;
  }
  ~SameAddresses() {
    if (changed_) ::personality(static_cast<unsigned>(before_));
  }
  SameAddresses(const SameAddresses&) = delete;
  SameAddresses& operator=(const SameAddresses&) = delete;

 private:
  static constexpr unsigned long kQuery = 0xffffffff;
  int before_;
  bool changed_ = false;
};

}  // namespace

std::string stand_in_folder(Device device) {
  // Where CUDA's is the GPU's, a folder of its own, without the stand-in for it.
  const char* part = device == Device::kHost ? "hostgpu/libamdhip64.so.5" : "hostgpu/hip/libamdhip64.so.5";
  return std::filesystem::path(listable(installed_part(part))).parent_path();
}

namespace {

// To a sanitizer's runtime. What the user's own options say comes behind, and counts.
void tell_sanitizer(std::vector<std::string>& variables, std::string_view name, std::string_view option) {
  const std::string begin = fmt::format("{}=", name);
  auto found = std::ranges::find_if(variables, [&](const std::string& v) { return v.starts_with(begin); });
  if (found == variables.end()) {
    variables.push_back(fmt::format("{}{}", begin, option));
  } else {
    *found = fmt::format("{}{}:{}", begin, option, found->substr(begin.size()));
  }
}

}  // namespace

// Above the stack lie the texts of variables, arguments and the program's path, and below these as many pointers, each
// part aligned to 16 bytes. The stack begins in the same place if that many bytes are there.
std::vector<std::string> padded(std::vector<std::string> variables, const std::vector<std::string>& command) {
  constexpr std::string_view kFirst = "MNEME_CAPTURE_PADDING=", kSecond = "MNEME_CAPTURE_PADDING_2=";
  constexpr size_t kWhole = 64 << 10, kPointer = 8;
  std::erase_if(variables, [&](const std::string& v) { return v.starts_with(kFirst) || v.starts_with(kSecond); });
  variables.emplace_back(kFirst);
  if ((variables.size() + command.size()) % 2 != 0) variables.emplace_back(kSecond);
  size_t bytes = kPointer * (variables.size() + command.size());
  for (const std::string& variable : variables) bytes += variable.size() + 1;
  for (const std::string& word : command) bytes += word.size() + 1;
  const std::string& name = command.front();
  bytes += (name.find('/') == std::string::npos ? resolve_program(name) : name).size() + 1;
  auto first = std::ranges::find(variables, kFirst);
  first->append((kWhole - bytes % kWhole) % kWhole, ' ');
  return variables;
}

std::vector<std::string> environment_with(std::vector<std::string> variables, const Surroundings& surroundings) {
  for (const std::string& library : surroundings.preloaded) prepend(variables, "LD_PRELOAD", library);
  if (!surroundings.socket_name.empty() || !surroundings.applied.empty()) {
    prepend(variables, "LD_PRELOAD", listable(installed_part("libmneme-record.so")));
    std::erase_if(variables, [](const std::string& v) { return v.starts_with(record::kSocketVariable); });
    if (!surroundings.socket_name.empty()) {
      variables.push_back(std::string(record::kSocketVariable) + "=" + surroundings.socket_name);
    }
    // The shared runtime insists on being the first library, and works behind the recorder all the same.
    tell_sanitizer(variables, "ASAN_OPTIONS", "verify_asan_link_order=0");
  }
  std::erase_if(variables, [](const std::string& v) { return v.starts_with("MNEME_APPLY"); });
  variables.insert(variables.end(), surroundings.applied.begin(), surroundings.applied.end());
  for (const char* name : {"MNEME_CHECK=", "MNEME_FINDINGS=", "MNEME_SUPPRESS=", "MNEME_WARP_SYNCHRONOUS="}) {
    std::erase_if(variables, [&](const std::string& v) { return v.starts_with(name); });
  }
  variables.insert(variables.end(), surroundings.checks.begin(), surroundings.checks.end());
  if (surroundings.check_memory) {
    std::erase_if(variables, [](const std::string& v) { return v.starts_with("MNEME_CHECK_MEMORY="); });
    variables.push_back("MNEME_CHECK_MEMORY=1");
  }
  std::erase_if(variables, [](const std::string& v) { return v.starts_with("MNEME_HOST_DEVICES="); });
  if (surroundings.devices > 1) variables.push_back("MNEME_HOST_DEVICES=" + std::to_string(surroundings.devices));
  if (surroundings.device != Device::kCuda && surroundings.device != Device::kHip) {
    prepend(variables, "LD_LIBRARY_PATH", stand_in_folder(surroundings.device));
    // The threads of the host device live as long as the process.
    tell_sanitizer(variables, "TSAN_OPTIONS", "report_thread_leaks=0");
  }
  return variables;
}

Signals::Signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw system_error("cannot wait for signals");
}

Signals::~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Application::Application(const std::vector<std::string>& command, const Surroundings& surroundings,
                         const Signals& signals) {
  std::vector<std::string> variables = environment_with(environment(), surroundings);
  if (!surroundings.keep_aslr) variables = padded(std::move(variables), command);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (surroundings.output_to_errors) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &signals.mask_before());
  SameAddresses same(!surroundings.keep_aslr);
  int failed = ::posix_spawnp(&process_, command[0].c_str(), &actions, &attributes, pointers_to(command).data(),
                              pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT && command[0].find('/') == std::string::npos) {
    throw Error::of("cannot run '{0}': it is not in PATH; give its path, such as './{0}'", command[0]);
  }
  if (failed == EACCES) throw Error::of("cannot run '{}': it is not executable; give the compiled program", command[0]);
  if (failed) throw Error::of("cannot run '{}': {}", command[0], std::strerror(failed));
}

int Application::wait(const Signals& signals) {
  for (;;) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) return status;
    wait_for({{signals.descriptor(), POLLIN, 0}});
    while (std::optional<signalfd_siginfo> info = next_signal(signals)) {
      // Sent by a process, not by the terminal's driver, which sends it to the whole foreground group.
      bool to_us_alone = info->ssi_code <= 0;
      if (info->ssi_signo != SIGCHLD && to_us_alone) ::kill(process_, static_cast<int>(info->ssi_signo));
    }
  }
}

bool interrupted_before(int descriptor, const Signals& signals) {
  for (;;) {
    pollfd waiting[] = {{descriptor, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    if (::poll(waiting, std::size(waiting), -1) < 0 && errno != EINTR) {
      throw system_error("cannot wait for the application");
    }
    if (waiting[0].revents) return false;
    while (std::optional<signalfd_siginfo> info = next_signal(signals)) {
      if (info->ssi_signo != SIGCHLD) return true;
    }
  }
}

}  // namespace mneme::capture
