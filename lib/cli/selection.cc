// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cctype>

#include "base/long_names.h"
#include "cli/stage.h"

namespace mneme::cli {
namespace {

constexpr size_t kOthersNamed = 5;

}  // namespace

Error no_kernel_matches(const std::string& expression, const std::vector<std::string>& others) {
  std::string there = "the bundle holds no kernels";
  if (!others.empty()) {
    size_t named = std::min(others.size(), kOthersNamed);
    there = fmt::format("there are: {}{}", fmt::join(others.begin(), others.begin() + static_cast<long>(named), "; "),
                        others.size() > named ? "; …" : "");
  }
  // A name out of a message has parentheses.
  const bool is_name = expression.find('(') != std::string::npos && expression.find("\\(") == std::string::npos;
  return Error(fmt::format("no kernel matches --kernel '{}'{}; {}", expression,
                           is_name ? ", a regular expression (\\( stands for a parenthesis)" : "", there));
}

void Selection::add_options(Options& options) {
  options.group("Selection");
  options.value("--kernel", kernel_, "REGEX", "only kernels whose demangled name matches");
  options.value("--instance", instance_, "PREFIX", "only the instance whose hash starts so");
}

void Selection::check() {
  if (!kernel_.empty()) expression_.emplace("--kernel", kernel_);
  for (char& c : instance_) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  bool hexadecimal = std::all_of(instance_.begin(), instance_.end(),
                                 [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!hexadecimal || instance_.size() > 2 * Digest::kSize) {
    throw Error::of("--instance '{}' is not the beginning of a hash: give up to 32 hexadecimal digits", instance_);
  }
}

std::vector<std::string> Selection::kernel_words() const {
  if (kernel_.empty()) return {};
  return {"--kernel", kernel_};
}

bool Selection::kernel(const bundle::KernelInfo& kernel) const {
  const std::string& name = kernel.demangled.empty() ? kernel.name : kernel.demangled;
  note_name(name);  // every stage asks this of each kernel before it has anything to say of it
  if (expression_ && !expression_->matches(name)) {
    if (others_.size() <= kOthersNamed) others_.push_back(name);
    return false;
  }
  kernel_met_ = true;
  return true;
}

bool Selection::instance(const Digest& instance) const {
  if (instance_.empty()) return true;
  if (instance.hex().compare(0, instance_.size(), instance_) != 0) return false;
  if (instance_met_ && *instance_met_ != instance) {
    throw Error::of("--instance '{}' fits more than one instance: {} and {}", instance_, instance_met_->hex(),
                    instance.hex());
  }
  instance_met_ = instance;
  return true;
}

void Selection::check_met() const {
  if (!kernel_met_ && !kernel_.empty()) throw no_kernel_matches(kernel_, others_);
  if (!instance_met_ && !instance_.empty()) {
    throw Error::of("no instance{} starts with --instance '{}'", kernel_.empty() ? "" : " of the selected kernels",
                    instance_);
  }
}

}  // namespace mneme::cli
