// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the stand-in exports beyond the vendor's interface, for the recorder and for the stand-ins for CUDA's libraries.
#pragma once
#include <stddef.h>

struct HIP_RESOURCE_DESC_st;
struct HIP_RESOURCE_VIEW_DESC_st;
struct HIP_TEXTURE_DESC_st;
struct hipArray;
struct hipGraphExec;
struct hipGraphNode;
struct hipResourceDesc;
struct hipResourceViewDesc;
struct hipTextureDesc;
struct ihipGraph;
struct ihipModule_t;
struct ihipStream_t;

namespace mneme::vendor::cuda {
struct AllocationNode;
}

namespace mneme::bundle {
struct TextureArray;
struct TextureObject;
}  // namespace mneme::bundle

namespace mneme::hostgpu {

struct AccessWindow {  // cudaAccessPolicyWindow
  void* begin = nullptr;
  size_t size = 0;
  float hit_ratio = 0;
  int hit = 0, miss = 0;
};

// What an application asks of a stream that changes nothing here.
struct StreamAttributes {
  int priority = 0;
  // CUDA's alone.
  int synchronization = 1;            // cudaSyncPolicyAuto
  unsigned char domains[2] = {0, 1};  // cudaLaunchMemSyncDomainMap
  int domain = 0;                     // cudaLaunchMemSyncDomainDefault
  AccessWindow window;
};

}  // namespace mneme::hostgpu

extern "C" {

// Where a device variable lies. `fat_binary` is what __hipRegisterFatBinary returned. 0: found; the address may be
// null for a variable that has none yet, before mneme_hostgpu_prepare.
int mneme_hostgpu_global(const void* fat_binary, const char* name, void** address, size_t* size);

// The records (objects/embedded.h) of a program's kernels whose IR was made of PTX, as long as it is registered.
// `program` as `fat_binary` above. 0 bytes: there are none.
int mneme_hostgpu_lifted(const void* program, const void** records, size_t* size);

// Compiles a kernel and gives its fat binary's variables their places and first contents, without launching it.
// 0: it is ready; else the hipError_t that launching it would give, after the same message.
// Calls hipMalloc for the variables: hold no lock that hipMalloc takes.
int mneme_hostgpu_prepare(const void* host_function);

// Other code of the kernel that a host function stands for, on the thread's device: `target` is what it was compiled
// for, "host:x86-64-v3". `variant` stands for it from then on, as what hipModuleGetFunction gives does, for as long as
// the kernel's program is there. 0: it is ready to be launched; else `reason` says why it is not, a sentence of at most
// `size` bytes.
//
// `failed` is called with `user` when a launch of it has failed, on the thread that runs the launch. `own_code`: the
// kernel's own code ran in its place. `fault` is a sentence; empty where an earlier launch failed, so that the variant
// was not tried.
typedef void (*mneme_hostgpu_variant_failed)(void* user, int own_code, const char* fault);
int mneme_hostgpu_load_variant(const void* host_function, const char* target, const void* code, size_t code_size,
                               mneme_hostgpu_variant_failed failed, void* user, const void** variant, char* reason,
                               size_t size);

// Waits for all that was launched, whatever is being captured, but not for ever. 0: it is done; hipErrorNotReady: not
// in this time, because a kernel waits for the application perhaps, or not for a second (less, each time in succession)
// in which streams only waited for the application or ran its functions, or kernels that wait for what it writes; else
// the error that the thread's device is left in.
int mneme_hostgpu_settle(unsigned milliseconds);

// Until mneme_hostgpu_let_go() by the same thread, what other threads give to streams waits before it is queued: with
// mneme_hostgpu_settle() in between, device memory changes only by what this thread does. (And by stores of the
// application to memory that it can write itself.) One thread at a time: the others' calls do nothing.
void mneme_hostgpu_hold();
void mneme_hostgpu_let_go();

// For CUDA's functions that HIP has not. All return 0 or a hipError_t. The priority is brought into its range; there is
// nothing to upload.
int mneme_hostgpu_get_attributes(ihipStream_t* stream, mneme::hostgpu::StreamAttributes* attributes);
int mneme_hostgpu_set_attributes(ihipStream_t* stream, const mneme::hostgpu::StreamAttributes* attributes);
int mneme_hostgpu_upload_graph(hipGraphExec* graph, ihipStream_t* stream);

// Nodes that allocate memory, and free it: empty nodes, beside which is kept what they stand for.
int mneme_hostgpu_add_allocation(hipGraphNode** node, ihipGraph* graph, hipGraphNode* const* before, size_t count,
                                 mneme::vendor::cuda::AllocationNode* parameters);
int mneme_hostgpu_add_free(hipGraphNode** node, ihipGraph* graph, hipGraphNode* const* before, size_t count,
                           void* memory);
// Which of CUDA's kinds such a node is, and what it was added with, where that is not null. 0: it is another node.
int mneme_hostgpu_memory_node(hipGraphNode* node, mneme::vendor::cuda::AllocationNode* allocation, void** freed);
// A handle for kernels to set a condition by, and a node that has `size` graphs, `bodies`, of which the condition that
// the handle is for decides. `kind` is CUDA's number for it; `reset`: each launch begins with the value.
int mneme_hostgpu_make_condition(unsigned long long* handle, ihipGraph* graph, unsigned value, bool reset);
int mneme_hostgpu_add_condition(hipGraphNode** node, ihipGraph* graph, hipGraphNode* const* before, size_t count,
                                unsigned long long handle, int kind, unsigned size, ihipGraph*** bodies);
// After memory was given out in the order of a stream. 1: the stream is captured, and the memory is the graph's.
int mneme_hostgpu_note_allocation(void* memory, size_t size, ihipStream_t* stream);
// Before memory is freed that a graph may have allocated, at once or in the order of a stream, which may be captured.
// 1: the graph keeps it, and nothing is to be freed.
int mneme_hostgpu_give_back(void* memory);
int mneme_hostgpu_give_back_in(void* memory, ihipStream_t* stream);

// Textures and surfaces as CUDA has them. `seamless`: filters are to reach over the edges of a cube's faces.
int mneme_hostgpu_create_texture(unsigned long long* object, const hipResourceDesc* resource,
                                 const hipTextureDesc* texture, const hipResourceViewDesc* view, bool seamless);
// The same of the driver's structures.
int mneme_hostgpu_create_drivers_texture(unsigned long long* object, const HIP_RESOURCE_DESC_st* resource,
                                         const HIP_TEXTURE_DESC_st* texture, const HIP_RESOURCE_VIEW_DESC_st* view,
                                         bool seamless);
int mneme_hostgpu_create_surface(unsigned long long* object, const hipResourceDesc* resource);
int mneme_hostgpu_destroy_surface(unsigned long long object);
int mneme_hostgpu_surface_resource(hipResourceDesc* resource, unsigned long long object);
// What a texture or surface that a CUDA program made is of, in the words of recordings: all but where its handle lies.
// An array's address is that of its texels; where it is of memory, `array` stays as it is.
int mneme_hostgpu_describe_texture(unsigned long long object, bool surface, mneme::bundle::TextureObject* texture,
                                   mneme::bundle::TextureArray* array);
// Where `size` bytes of an array lie from byte x of a row on; they may go over the ends of rows.
int mneme_hostgpu_array_bytes(const hipArray* array, size_t x, size_t row, size_t size, void** bytes);
int mneme_hostgpu_array_flags(const hipArray* array, unsigned* flags);  // what it was made with

int mneme_hostgpu_stream_id(ihipStream_t* stream, unsigned long long* id);  // no other stream ever has it
// Where an argument lies among a kernel's, and how many bytes it has; each may be null. hipErrorInvalidValue: there are
// fewer arguments.
int mneme_hostgpu_parameter(const void* function, size_t index, size_t* offset, size_t* size);
// The module of a function. The code that start-up code registers stands for a module, too, which cannot be
// unloaded.
int mneme_hostgpu_module_of(const void* function, ihipModule_t** module);
// The names of a module's kernels, in order; null: there are fewer, or it is no module. As long as it is loaded.
const char* mneme_hostgpu_kernel_name(ihipModule_t* module, size_t index);
// Sets the thread's last error, which hipGetLastError gives; returns the one before.
int mneme_hostgpu_exchange_error(int error);

// Says, once, that the function is not supported and why. Returns hipErrorNotSupported.
int mneme_hostgpu_refuse(const char* function, const char* reason);

}  // extern "C"
