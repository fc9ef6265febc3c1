// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>

#include "base/long_names.h"
#include "base/pipeline.h"
#include "cli/options.h"
#include "cli/progress.h"

namespace mneme::cli {
namespace {

std::string& tool_name() {
  static std::string name = "mneme";
  return name;
}

bool whole_names = false;

// One write a message, so that the messages of the stages of a pipeline do not mix within a line.
void say(const std::string& text) {
  Progress::clear_line();
  std::string line = tool_name() + ": " + (whole_names ? text : with_short_names(text)) + "\n";
  // Texts come from strangers' bundles, too: nothing in them may steer a terminal.
  auto steers = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F; };
  std::replace_if(line.begin(), line.end(), steers, '?');
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// A tool started with a standard descriptor closed would get its first file as that descriptor. What stands in is
// opened the wrong way round, so that using it is still an error.
void occupy_standard_descriptors() {
  for (int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

void catch_what_writing_raises() {
  for (int signal : {SIGPIPE, SIGXFSZ}) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

int run_tool(const std::string& tool, const std::function<Exit()>& body) {
  tool_name() = tool;
  occupy_standard_descriptors();
  catch_what_writing_raises();
  try {
    return static_cast<int>(body());
  } catch (const Reported& error) {
    return static_cast<int>(error.exit());
  } catch (const Error& error) {
    say(std::string("error: ") + error.what());
    return static_cast<int>(error.exit());
  } catch (const std::bad_alloc&) {
    say("error: out of memory");
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
  }
  return static_cast<int>(Exit::kBadInput);
}

void say_whole_names(bool whole) { whole_names = whole; }

void warn(const std::string& message) { say("warning: " + message); }

void warn_of_each(const std::vector<std::string>& messages, const std::string& others) {
  constexpr size_t kFew = 3;
  for (size_t i = 0; i < std::min(kFew, messages.size()); i++) warn(messages[i]);
  if (messages.size() > kFew) warn(fmt::format("and {} more {}", messages.size() - kFew, others));
}
void note(const std::string& message) { say(message); }

}  // namespace mneme::cli
