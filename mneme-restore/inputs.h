// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bundle/reader.h"
#include "cli/stage.h"

namespace mneme::restore {

// The bundles to read; none: standard input. All are opened before anything is written, so that an error in one is
// reported at once. A file is closed until its turn comes, so that any number of them takes no more descriptors and
// memory than one.
class Inputs {
 public:
  Inputs(std::vector<std::string> paths, bundle::Memory memory);

  const std::vector<bundle::BundleInfo>& infos() const { return infos_; }

  // Calls function(reader) for each in turn.
  void for_each(const std::function<void(bundle::Reader&)>& function);

 private:
  struct Opened {
    std::unique_ptr<cli::Input> file;
    std::unique_ptr<bundle::Reader> reader;
  };
  struct Waiting {
    std::string path;
    Opened opened;  // none: it is opened again
  };

  Opened open(const std::string& path) const;

  const bundle::Memory memory_;
  std::vector<bundle::BundleInfo> infos_;
  std::vector<Waiting> waiting_;
};

}  // namespace mneme::restore
