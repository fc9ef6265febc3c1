// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace mneme::record {

// The members of a bundle that is a file, where they lie. Only tar's plain headers are read: a bundle without memory
// has no other. mneme-capture checks the bundle with lib/bundle before. Nothing does where $MNEME_APPLY is set by hand.
class BundleFile {
 public:
  explicit BundleFile(const std::string& path);  // throws Error
  ~BundleFile();
  BundleFile(const BundleFile&) = delete;
  BundleFile& operator=(const BundleFile&) = delete;

  const std::map<std::string_view, Bytes>& members() const { return members_; }
  // Throws Error where there is none of that name.
  Bytes member(const std::string& name) const;

 private:
  void find_members();

  std::string path_;
  Bytes bytes_;
  std::map<std::string_view, Bytes> members_;
};

}  // namespace mneme::record
