/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#include "mneme/annotate.h"

static void record(const void* pointer, const struct mneme_annotation_v1* annotation) {
  mneme_annotate_v1_function function = NULL;
  /* Looked up each time: the recorder is there from the beginning, or never. */
  *(void**)&function = dlsym(RTLD_DEFAULT, "mneme_annotate_v1");
  if (function) function(pointer, annotation);
}

void mneme_annotate(const void* pointer, enum mneme_dtype dtype, double threshold, enum mneme_kind kind,
                    enum mneme_norm norm, const char* tag) {
  struct mneme_annotation_v1 annotation = {
      .dtype = dtype, .threshold = threshold, .kind = kind, .norm = norm, .tag = tag};
  mneme_annotate_with(pointer, &annotation);
}

void mneme_annotate_with(const void* pointer, const struct mneme_annotation_v1* annotation) {
  struct mneme_annotation_v1 sized = *annotation;
  sized.size = sizeof sized;
  record(pointer, &sized);
}

void mneme_unannotate(const void* pointer) { record(pointer, NULL); }
