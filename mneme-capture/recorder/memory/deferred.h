// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace mneme::record {

// Memory that was released in the order of a stream: what was submitted before may use it still. Only that stream may
// have it again, until it is known to have come so far. What is given out when depends on what the application calls,
// not on how fast anything runs. Not thread-safe.
class Deferred {
 public:
  void add(uint64_t address, uint64_t size, int device, void* stream);
  bool contains(uint64_t address) const;

  // A piece of just that size for the same stream, the first released first; it is not deferred any more.
  std::optional<uint64_t> reuse(uint64_t size, int device, void* stream);
  // The stream's handle may come to stand for another stream.
  void forget_stream(void* stream);

  // What nothing uses any more, once everything is done that was submitted before mark() was asked for; or everything
  // in the stream. The mark is 0 as long as nothing is deferred.
  uint64_t mark() const { return pieces_.empty() ? 0 : next_; }
  std::vector<uint64_t> take(uint64_t mark);
  std::vector<uint64_t> take(uint64_t mark, void* stream);

  uint64_t bytes() const { return bytes_; }

 private:
  struct Piece {
    uint64_t number;
    uint64_t address, size;
    int device;
    void* stream;
    bool destroyed = false;  // the stream
  };
  template <class Done>
  std::vector<uint64_t> take_those(const Done& done);

  std::vector<Piece> pieces_;  // in the order of their release
  uint64_t bytes_ = 0;
  uint64_t next_ = 0;  // number
};

}  // namespace mneme::record
