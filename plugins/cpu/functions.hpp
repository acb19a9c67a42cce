// SPDX-License-Identifier: Apache-2.0
// The functions of the driver's table, under the names of their slots; driver.h documents them.
#pragma once

#include <weir/driver.h>

namespace weir::cpu {

weir_result device_count(uint32_t* out_count, weir_status* status);
weir_result device_open(uint32_t index, weir_device* out_device, weir_status* status);
weir_result device_close(weir_device device, weir_status* status);
weir_result device_get_info(uint32_t index, weir_device_info* info, weir_status* status);
weir_result device_get_memory(weir_device device, uint64_t* out_free, uint64_t* out_total, weir_status* status);

weir_result stream_create(weir_device device, const weir_stream_options* options, weir_stream* out_stream,
                          weir_status* status);
weir_result stream_destroy(weir_stream stream, weir_status* status);
weir_result stream_flush(weir_stream stream, weir_status* status);
weir_result stream_query(weir_stream stream, weir_status* status);
weir_result stream_synchronize(weir_stream stream, weir_status* status);
weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status);
weir_result stream_host_callback(weir_stream stream, weir_host_callback callback, void* user, weir_status* status);
weir_result stream_wrap(weir_device device, void* native, weir_stream* out_stream, weir_status* status);
weir_result stream_get_native(weir_stream stream, void** out_native, weir_status* status);

weir_result event_create(weir_device device, uint32_t flags, weir_event* out_event, weir_status* status);
weir_result event_destroy(weir_event event, weir_status* status);
weir_result event_record(weir_event event, weir_stream stream, weir_status* status);
weir_result event_query(weir_event event, weir_status* status);
weir_result event_synchronize(weir_event event, weir_status* status);
weir_result event_elapsed(weir_event start, weir_event end, double* out_nanoseconds, weir_status* status);

weir_result memory_allocate(weir_device device, const weir_memory_options* options, weir_allocation* out_allocation,
                            weir_status* status);
weir_result memory_free(weir_allocation allocation, weir_status* status);
weir_result memory_allocate_async(weir_stream stream, const weir_memory_options* options,
                                  weir_allocation* out_allocation, weir_status* status);
weir_result memory_free_async(weir_stream stream, weir_allocation allocation, weir_status* status);
weir_result memory_get_info(weir_allocation allocation, weir_memory_info* info, weir_status* status);
weir_result memory_wrap(weir_device device, const weir_external_memory* memory, weir_allocation* out_allocation,
                        weir_status* status);

weir_result copy_to_device(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                           const void* source, uint64_t size, weir_status* status);
weir_result copy_to_host(weir_stream stream, void* destination, weir_allocation source, uint64_t source_offset,
                         uint64_t size, weir_status* status);
weir_result copy_on_device(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                           weir_allocation source, uint64_t source_offset, uint64_t size, weir_status* status);
weir_result copy_peer(weir_stream stream, weir_allocation destination, uint64_t destination_offset,
                      weir_allocation source, uint64_t source_offset, uint64_t size, weir_status* status);
weir_result fill(weir_stream stream, weir_allocation destination, uint64_t offset, uint64_t size,
                 const void* pattern, uint32_t pattern_size, weir_status* status);

weir_result code_compile(weir_device device, const weir_code_object* object, weir_code_receiver receive,
                         void* user, weir_status* status);
weir_result module_load(weir_device device, const weir_code_object* object, weir_module* out_module,
                        weir_status* status);
weir_result module_unload(weir_module module, weir_status* status);
weir_result module_get_kernel(weir_module module, const char* name, const weir_kernel_layout* layout,
                              weir_kernel* out_kernel, weir_status* status);
weir_result kernel_get_info(weir_kernel kernel, weir_kernel_info* info, weir_status* status);
weir_result kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* status);
weir_result kernel_max_cooperative_blocks(weir_kernel kernel, uint32_t block_threads, uint32_t dynamic_shared_bytes,
                                          uint32_t* out_blocks, weir_status* status);

weir_result graph_create(weir_device device, uint32_t count, const weir_graph_node* const* nodes,
                         weir_graph* out_graph, weir_status* status);
weir_result graph_update(weir_graph graph, uint32_t index, const weir_graph_node* node, weir_status* status);
weir_result graph_launch(weir_graph graph, weir_stream stream, weir_status* status);
weir_result graph_destroy(weir_graph graph, weir_status* status);

weir_result get_extension(const char* name, uint32_t version, const void** out_table, weir_status* status);

}  // namespace weir::cpu
