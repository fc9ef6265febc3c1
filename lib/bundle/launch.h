// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a recorded launch is replayed under a configuration.
#pragma once
#include "bundle/format.h"

namespace mneme::bundle {

// What the configuration does not say is as recorded; but where it says the block only, there are as many blocks in
// each dimension as it takes for the recorded threads. Throws Error on what cannot be: a configuration that is for
// another instance, launch bounds below the block's size, a grid that no device can launch.
LaunchSize launch_size(const InstanceInfo& instance, const Configuration& configuration);

// Whether it is for other dimensions or another amount of shared memory than were recorded.
bool launches_otherwise(const InstanceInfo& instance, const Configuration& configuration);

// How a choice's variant of this configuration is launched; nothing where as the application does. Throws Error as
// launch_size() does.
std::optional<LaunchSize> launch_of(const Choice& choice, const Configuration& configuration);

// "(256, 1, 1)"
std::string text_of(const Dim3& dimensions);

}  // namespace mneme::bundle
