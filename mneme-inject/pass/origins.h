// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <map>
#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

// How far one place may be behind another, as bundle::PointerPlace says it.
struct Displacement {
  int64_t offset = 0;   // bytes
  uint64_t stride = 0;  // bytes; any multiple may be added; 0: nothing
  std::vector<bundle::Elements> arrays = {};

  void add(int64_t bytes) { offset += bytes; }
  void add_multiples(uint64_t bytes);  // of any number
  void add(const Displacement& other);
};

// A value that an address is made of: an argument, a variable, or 8 bytes of what was read from memory.
struct Word {
  const llvm::Value* value = nullptr;
  Displacement within = {};  // of the bytes that were read
};

// An address is this far behind where the word points to; behind a variable, where it lies.
struct Origin {
  Word word;
  Displacement behind;
};

// Memory that a thread or a block has for itself, if the address lies in such: what is read there was stored there.
// Else null.
const llvm::Value* private_memory(const llvm::Value& address);

// Finds out what addresses are made of, through arithmetic, local and shared variables, and calls.
class Origins {
 public:
  Origins(const llvm::Module& module, const llvm::Function& kernel);

  struct All {
    std::vector<Origin> origins;
    bool complete = true;  // false: it is also made of bits, or comes out of a function that is not known
  };
  All of(const llvm::Value& address) const;

  // Of memory that the value was read from; null: it was not.
  static const llvm::Value* address_of(const llvm::Value& value);

 private:
  class Way;

  // What may be written to memory of a thread or a block.
  struct Written {
    struct Part {
      const llvm::Value* value;  // or the copy
      Displacement place;
      int64_t size;  // bytes
    };
    std::vector<Part> parts;
    bool complete = true;  // false: there may be more
  };
  const Written& written_to(const llvm::Value& memory) const;

  bool follow_memory(const Word& word, const Displacement& behind, Way& way) const;
  bool follow_arithmetic(const Word& word, const Displacement& behind, Way& way) const;
  bool follow_calls(const Word& word, const Displacement& behind, Way& way) const;
  void add_element(const llvm::User& pointer, Displacement& behind) const;
  Displacement place_in(const llvm::Value& memory, const llvm::Value* address) const;

  const llvm::DataLayout& layout_;
  const llvm::Function& kernel_;
  std::vector<const llvm::CallBase*> indirect_calls_;
  std::vector<const llvm::Function*> by_pointer_;  // whose addresses are taken
  mutable std::map<const llvm::Value*, Written> written_;
};

}  // namespace mneme::inject
