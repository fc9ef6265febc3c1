// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-run-worker: a process of its own because it runs a stranger's code, which may crash, hang, or do worse.
#include <unistd.h>

#include "replay/worker/working.h"

int main() { ::_exit(mneme::run::work()); }
