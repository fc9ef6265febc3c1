// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "recorder/apply/bundle_file.h"

namespace mneme::record {

// The choices of a bundle (bundle/format.h), with the code that each chooses.
class Choices {
 public:
  struct One {
    bundle::Choice choice;
    size_t number = 0;  // its place in the bundle, as a report has it
    Bytes code;
  };

  // `kernels`: ids, with commas, of those whose choices count; empty: all. Throws Error.
  explicit Choices(const std::string& path, std::string_view kernels = {});

  size_t size() const { return choices_.size(); }
  // Those of a kernel; null: there is none.
  const std::vector<const One*>* of(const Digest& kernel) const;
  // Whether it has choices for a kernel of this name, as the linker sees it, whatever its code.
  bool knows(const std::string& name) const { return names_.contains(name); }

 private:
  void add(const std::string& name, Bytes json);
  Bytes code_of(const bundle::Choice& choice) const;

  std::string path_;
  BundleFile file_;
  std::vector<One> choices_;
  std::map<Digest, std::vector<const One*>> by_kernel_;
  std::set<std::string> names_;
};

}  // namespace mneme::record
