// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other devices: there are none.
#include "hostgpu/device_info.h"
#include "hostgpu/errors.h"

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return answer([&] {
    require(can);
    check_device(device);
    check_device(peer);
    *can = 0;
  });
}

hipError_t hipDeviceEnablePeerAccess(int, unsigned flags) {
  return answer([&] {
    require(flags == 0);
    throw HipError(hipErrorInvalidDevice);
  });
}

hipError_t hipDeviceDisablePeerAccess(int) { return note_error(hipErrorInvalidDevice); }

// Both are for two devices that are not the same.
hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr which, int, int) {
  return answer([&] {
    require(value && which >= hipDevP2PAttrPerformanceRank && which <= hipDevP2PAttrHipArrayAccessSupported);
    throw HipError(hipErrorInvalidDevice);
  });
}

hipError_t hipExtGetLinkTypeAndHopCount(int, int, uint32_t* type, uint32_t* hops) {
  return answer([&] {
    require(type && hops);
    throw HipError(hipErrorInvalidDevice);
  });
}

}  // extern "C"
