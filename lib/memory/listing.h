// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the stand-in for the vendor's runtime learns of the recorder, and of the memory that it gave out in its stead.
#pragma once
#include <cstdint>

namespace mneme::memory {

enum class ListedKind : uint32_t { kDevice, kPinned, kManaged, kRegistered };

struct ListedMemory {
  uint64_t address = 0;
  uint64_t size = 0;
  ListedKind kind = ListedKind::kDevice;
  bool released = false;  // of these only the latest, the last one first
};

// In the environment of what is recorded.
inline constexpr char kRecordingVariable[] = "MNEME_CAPTURE_SOCKET";

// The recorder exports it by this name. Calls `take` for each piece of memory; false: it gives out none.
using ListMemory = bool (*)(void (*take)(void* user, const ListedMemory&), void* user);
inline constexpr char kListMemorySymbol[] = "mneme_record_list_memory";

// And this, by its name. The allocation that contains an address; false: no allocation of the recorder's does.
using FindMemory = bool (*)(const void* address, ListedMemory* found);
inline constexpr char kFindMemorySymbol[] = "mneme_record_find_memory";

// And these. Whether the calling thread is in a launch that the recorder has seen, or no launch is.
using IsInLaunch = bool (*)();
inline constexpr char kIsInLaunchSymbol[] = "mneme_record_is_in_launch";
// Counts a launch of a kernel that the recorder has not seen; false: it counts none.
using CountLaunch = bool (*)(const char* kernel);
inline constexpr char kCountLaunchSymbol[] = "mneme_record_count_launch";
inline constexpr char kRecorderLibrary[] = "libmneme-record.so";

}  // namespace mneme::memory
