// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other devices. Each reaches all memory, so that access to a peer's is only a matter of keeping account.
#include <mutex>
#include <set>

#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"

namespace mneme::hostgpu {
namespace {

constexpr uint32_t kPciExpress = 2;  // HSA_AMD_LINK_INFO_TYPE_PCIE

struct Peers {
  HeldOverForks<std::mutex> mutex;
  std::set<std::pair<int, int>> enabled;  // a device, and one whose memory it may use
};

Peers& peers() {
  static auto* all = new Peers;
  return *all;
}

void check_pair(int device, int peer) {
  check_device(device);
  check_device(peer);
  require(device != peer, hipErrorInvalidDevice);
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return answer([&] {
    require(can);
    check_device(device);
    check_device(peer);
    *can = device != peer;
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return answer([&] {
    require(flags == 0);
    check_pair(current_device(), peer);
    std::lock_guard lock(peers().mutex);
    require(peers().enabled.insert({current_device(), peer}).second, hipErrorPeerAccessAlreadyEnabled);
  });
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  return answer([&] {
    check_pair(current_device(), peer);
    std::lock_guard lock(peers().mutex);
    require(peers().enabled.erase({current_device(), peer}) == 1, hipErrorPeerAccessNotEnabled);
  });
}

hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr which, int device, int peer) {
  return answer([&] {
    require(value && which >= hipDevP2PAttrPerformanceRank && which <= hipDevP2PAttrHipArrayAccessSupported);
    check_pair(device, peer);
    *value = which != hipDevP2PAttrPerformanceRank;  // all is supported, and none is faster than others
  });
}

hipError_t hipExtGetLinkTypeAndHopCount(int device, int peer, uint32_t* type, uint32_t* hops) {
  return answer([&] {
    require(type && hops);
    check_pair(device, peer);
    *type = kPciExpress;
    *hops = 1;
  });
}

}  // extern "C"
