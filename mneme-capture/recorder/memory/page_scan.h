// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

#include "base/file.h"
#include "recorder/link/protocol.h"

namespace mneme::record {

// Linux's notes on who wrote to which page, as userfaultfd's asynchronous write protection and PAGEMAP_SCAN give them
// (Linux 6.7 and later, Documentation/admin-guide/mm/pagemap.rst): a page that is protected is written as ever, and is
// not protected any more. All ranges are of whole pages.
class PageScan {
 public:
  // What is protected with a descriptor stays so while that is open. None: the system has no such thing, or forbids it.
  static Fd make_protector();
  // Lets the pages be protected; none is yet. False: not those.
  static bool can_protect(int protector, MemoryRange memory);
  // They cannot be any more.
  static void forget(int protector, MemoryRange memory);
  static void unprotect(int protector, MemoryRange memory);

  // In the calling process, until the object goes. Check is_open().
  PageScan();
  bool is_open() const { return static_cast<bool>(pagemap_); }

  // Adds the runs of pages in `memory` that are protected. False: the notes cannot be read.
  bool add_protected(MemoryRange memory, std::vector<MemoryRange>& runs) const;
  // Protects those that are not, and adds the runs of these: nobody's writing comes between the two.
  bool add_written_and_protect(MemoryRange memory, std::vector<MemoryRange>& runs) const;

 private:
  struct Request;
  bool scan(const Request& request, MemoryRange memory, std::vector<MemoryRange>& runs) const;

  Fd pagemap_;
};

}  // namespace mneme::record
