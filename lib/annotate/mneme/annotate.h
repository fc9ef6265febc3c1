/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For C, and whatever can call C: says what "right enough" means for a piece of device memory. C++ has
 * mneme/MnemeAnnotation.hpp, which says more about it; Fortran has mneme/mneme.f90.
 *
 * Link with libmnemert (-lmnemert, or CMake's target mnemert). Outside mneme-capture the calls do nothing.
 */
#ifndef MNEME_ANNOTATE_H
#define MNEME_ANNOTATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the bytes are read; the complex numbers with the real part first. */
enum mneme_dtype {
  MNEME_U8,
  MNEME_I8,
  MNEME_U16,
  MNEME_I16,
  MNEME_U32,
  MNEME_I32,
  MNEME_U64,
  MNEME_I64,
  MNEME_F16,
  MNEME_F32,
  MNEME_F64,
  MNEME_BF16,
  MNEME_CF32,
  MNEME_CF64
};

/** How far a replayed value r is from the recorded value e: |r - e|; |r - e| / |e|; |r - e| / max(|e|, scale); or how
 * many steps from one number of the type to the next lie between them. */
enum mneme_kind { MNEME_ABSOLUTE, MNEME_RELATIVE, MNEME_SCALED, MNEME_ULP };

/** What is held against the threshold: each element's error, or their sum, root of the sum of squares, or maximum. */
enum mneme_norm { MNEME_NONE, MNEME_L1, MNEME_L2, MNEME_LINF };

/** What crosses into the recorder. `size` lets later versions add members at the end. */
struct mneme_annotation_v1 {
  uint32_t size;     /**< sizeof(struct mneme_annotation_v1) */
  uint32_t dtype;    /**< enum mneme_dtype */
  double threshold;  /**< the largest acceptable error; not negative */
  uint32_t kind;     /**< enum mneme_kind */
  uint32_t norm;     /**< enum mneme_norm */
  const char* tag;   /**< copied; may be null */
  uint64_t elements; /**< that it reaches over, from its pointer; 0: to the allocation's end or the next annotation */
  const uint8_t*
      ignore; /**< `ignore_count` bytes of the host's, read at once: not 0 for an element that is not compared */
  uint64_t ignore_count; /**< 0: all are compared; elements beyond it are, too */
  double scale;          /**< of MNEME_SCALED; 0: the root mean square of the recorded elements */
};

/** `mneme_annotate_v1`, which the recorder that mneme-capture preloads defines, and nobody else. A null annotation
 * takes an earlier one for the same pointer away. */
typedef void (*mneme_annotate_v1_function)(const void* pointer, const struct mneme_annotation_v1* annotation);

/** Annotates the device memory that starts at `pointer`; `tag` may be null. */
void mneme_annotate(const void* pointer, enum mneme_dtype dtype, double threshold, enum mneme_kind kind,
                    enum mneme_norm norm, const char* tag);
/** The same, with all that can be said. `annotation->size` is set for it. */
void mneme_annotate_with(const void* pointer, const struct mneme_annotation_v1* annotation);
/** From here to the next annotated pointer memory is compared byte for byte again. */
void mneme_unannotate(const void* pointer);

#ifdef __cplusplus
}
#endif

#endif
