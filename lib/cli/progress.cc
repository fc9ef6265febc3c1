// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/progress.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace mneme::cli {
namespace {

std::atomic<bool> line_is_shown{false};

void put(std::string_view text) { [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

Progress::Progress() {
  const char* terminal = std::getenv("TERM");
  terminal_ = ::isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
}

Progress::~Progress() { clear_line(); }

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  line_is_shown = true;
  put("\r\x1b[K" + text.substr(0, 100));
}

void Progress::clear_line() {
  if (line_is_shown.exchange(false)) put("\r\x1b[K");
}

}  // namespace mneme::cli
