// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inputs.h"

#include <utility>

#include "base/error.h"

namespace mneme::restore {

Inputs::Inputs(std::vector<std::string> paths, bundle::Memory memory) : memory_(memory) {
  if (paths.empty()) paths.push_back("-");
  for (std::string& path : paths) {
    Opened opened = open(path);
    infos_.push_back(opened.reader->info());
    const bool again = paths.size() > 1 && !opened.file->is_standard() && cli::keep_as_input(path);
    waiting_.push_back({std::move(path), again ? Opened() : std::move(opened)});
  }
}

void Inputs::for_each(const std::function<void(bundle::Reader&)>& function) {
  for (size_t i = 0; i < waiting_.size(); i++) {
    Opened opened = std::move(waiting_[i].opened);
    if (!opened.reader) {
      opened = open(waiting_[i].path);
      if (bundle::write(opened.reader->info()) != bundle::write(infos_[i])) {
        throw Error::of("{} was changed while it was waiting for its turn", opened.file->name());
      }
    }
    function(*opened.reader);
  }
}

Inputs::Opened Inputs::open(const std::string& path) const {
  Opened opened;
  opened.file = std::make_unique<cli::Input>(path);
  opened.file->open();
  opened.reader = std::make_unique<bundle::Reader>(opened.file->fd(), opened.file->name(), memory_);
  return opened;
}

}  // namespace mneme::restore
