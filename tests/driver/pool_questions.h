// Questions about pools, virtual memory and managed memory: see memory_questions.h.
#pragma once

#include "memory_questions.h"

namespace memory_questions {

inline void AskPools(Answers& a) {
  CUmemoryPool standard = nullptr, pool = nullptr, again = nullptr;
  a.Add("default pool", cuDeviceGetDefaultMemPool(&standard, 0));
  a.Add("current pool", cuDeviceGetMemPool(&again, 0), again == standard);
  a.Add("destroy default pool", cuMemPoolDestroy(standard));
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  a.Add("pool create", cuMemPoolCreate(&pool, &props));
  auto make = [&](const std::string& label, auto change) {
    CUmemPoolProps p = props;
    change(p);
    CUmemoryPool made = nullptr;
    const CUresult code = cuMemPoolCreate(&made, &p);
    a.Add("pool " + label, code);
    if (code == CUDA_SUCCESS) cuMemPoolDestroy(made);
  };
  using P = CUmemPoolProps;
  make("type invalid", [](P& p) { p.allocType = CU_MEM_ALLOCATION_TYPE_INVALID; });
  make("location invalid", [](P& p) { p.location.type = CU_MEM_LOCATION_TYPE_INVALID; });
  make("device 99", [](P& p) { p.location.id = 99; });
  make("device -1", [](P& p) { p.location.id = -1; });
  make("host", [](P& p) { p.location.type = CU_MEM_LOCATION_TYPE_HOST; });
  make("max size", [](P& p) { p.maxSize = 1 << 20; });
  make("reserved", [](P& p) { p.reserved[0] = 1; });
  for (int attribute = 0; attribute <= 9; ++attribute) {
    cuuint64_t value = 0;
    a.Add("pool attribute " + std::to_string(attribute),
          cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), &value), value);
    value = 1;
    a.Add("set pool attribute " + std::to_string(attribute),
          cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), &value));
    value = 0;
    a.Add("reset pool attribute " + std::to_string(attribute),
          cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), &value));
  }
  int on = 1;
  for (int attribute = 1; attribute <= 3; ++attribute)
    cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), &on);
  CUstream s = nullptr;
  cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
  CUdeviceptr p = 0, q = 0;
  auto state = [&](const std::string& label) {
    cuuint64_t v[4] = {};
    for (int i = 0; i < 4; ++i)
      cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT + i),
                            &v[i]);
    a.Add("pool used " + label, CUDA_SUCCESS, v[2], v[3]);
    a.Add("pool holds enough " + label, CUDA_SUCCESS, v[0] >= v[2], v[1] >= v[0]);
  };
  a.Add("pool alloc 0", cuMemAllocFromPoolAsync(&p, 0, pool, s));
  a.Add("pool alloc null", cuMemAllocFromPoolAsync(nullptr, 16, pool, s));
  a.Add("pool alloc no pool", cuMemAllocFromPoolAsync(&p, 16, nullptr, s));
  a.Add("pool alloc huge", cuMemAllocFromPoolAsync(&p, size_t{1} << 60, pool, s));
  a.Add("alloc async 0", cuMemAllocAsync(&p, 0, s));
  a.Add("pool alloc", cuMemAllocFromPoolAsync(&p, 1000, pool, s), p % 256);
  state("after 1000");
  a.Add("pool alloc 2", cuMemAllocFromPoolAsync(&q, 100000, pool, s));
  state("after 100000");
  CUmemoryPool of = nullptr;
  a.Add("pool of pointer", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p), of == pool);
  a.Add("free async inside", cuMemFreeAsync(p + 16, s));
  a.Add("free async", cuMemFreeAsync(p, s));
  cuStreamSynchronize(s);
  state("after free");
  cuMemAllocFromPoolAsync(&p, 1000, pool, s);
  cuMemFreeAsync(p, s);
  CUdeviceptr next = 0;
  cuMemAllocFromPoolAsync(&next, 1000, pool, s);
  a.Add("same stream gets it again", CUDA_SUCCESS, next == p);
  a.Add("plain free of pool memory", cuMemFree(next));
  a.Add("free async null", cuMemFreeAsync(0, s));
  a.Add("free async nowhere", cuMemFreeAsync(kNowhere, s));
  CUdeviceptr plain = 0;
  cuMemAlloc(&plain, 64);
  a.Add("free async of plain memory", cuMemFreeAsync(plain, s));
  cuStreamSynchronize(s);
  a.Add("free after free async of plain memory", cuMemFree(plain));
  cuMemFreeAsync(q, s);
  cuStreamSynchronize(s);
  a.Add("trim", cuMemPoolTrimTo(pool, 0));
  CUmemLocation here = {};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  a.Add("pool access", cuMemPoolGetAccess(&flags, pool, &here), flags);
  CUmemAccessDesc access = {};
  access.location = here, access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  a.Add("take own access", cuMemPoolSetAccess(pool, &access, 1));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  a.Add("read only access", cuMemPoolSetAccess(pool, &access, 1));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  a.Add("own access", cuMemPoolSetAccess(pool, &access, 1));
  access.location.id = 99;
  a.Add("access of device 99", cuMemPoolSetAccess(pool, &access, 1));
  a.Add("no access entries", cuMemPoolSetAccess(pool, nullptr, 0));
  CUmemPoolPtrExportData data = {};
  int handle = 0;
  a.Add("export pool without handle type",
        cuMemPoolExportToShareableHandle(&handle, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  cuMemAllocFromPoolAsync(&p, 1000, pool, s);
  cuStreamSynchronize(s);
  a.Add("export pointer without handle type", cuMemPoolExportPointer(&data, p));
  a.Add("set pool", cuDeviceSetMemPool(0, pool));
  a.Add("pool now", cuDeviceGetMemPool(&again, 0), again == pool);
  a.Add("destroy current pool", cuMemPoolDestroy(pool));
  a.Add("pool after", cuDeviceGetMemPool(&again, 0), again == standard);
  a.Add("free of destroyed pool", cuMemFreeAsync(p, s));
  a.Add("set no pool", cuDeviceSetMemPool(0, nullptr));
  cuStreamSynchronize(s);
  cuStreamDestroy(s);
}

inline void AskVirtualMemory(Answers& a) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED, prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t grain = 0, recommended = 0;
  a.Add("granularity", cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), grain);
  a.Add("recommended granularity",
        cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        recommended);
  if (grain == 0) return;
  CUmemAllocationProp odd = prop;
  odd.location.id = 99;
  a.Add("granularity of device 99",
        cuMemGetAllocationGranularity(&grain, &odd, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  odd = prop, odd.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  a.Add("granularity of type invalid",
        cuMemGetAllocationGranularity(&grain, &odd, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr p = 0;
  a.Add("reserve 0", cuMemAddressReserve(&p, 0, 0, 0, 0));
  a.Add("reserve 100", cuMemAddressReserve(&p, 100, 0, 0, 0));
  a.Add("reserve 4096", cuMemAddressReserve(&p, 4096, 0, 0, 0));
  a.Add("reserve flags", cuMemAddressReserve(&p, grain, 0, 0, 1));
  a.Add("reserve alignment 3", cuMemAddressReserve(&p, grain, 3, 0, 0));
  a.Add("reserve", cuMemAddressReserve(&p, 4 * grain, 0, 0, 0), p % grain);
  CUmemGenericAllocationHandle h = 0, same = 0;
  a.Add("create 0", cuMemCreate(&h, 0, &prop, 0));
  a.Add("create odd", cuMemCreate(&h, grain + 4096, &prop, 0));
  a.Add("create flags", cuMemCreate(&h, grain, &prop, 1));
  a.Add("create", cuMemCreate(&h, 2 * grain, &prop, 0));
  a.Add("map unaligned", cuMemMap(p + 4096, grain, 0, h, 0));
  a.Add("map too long", cuMemMap(p, 3 * grain, 0, h, 0));
  a.Add("map part", cuMemMap(p, grain, 0, h, 0));
  cuMemUnmap(p, grain);
  a.Add("map with offset", cuMemMap(p, grain, grain, h, 0));
  cuMemUnmap(p, grain);
  a.Add("map elsewhere", cuMemMap(p + 8 * grain, 2 * grain, 0, h, 0));
  a.Add("map", cuMemMap(p, 2 * grain, 0, h, 0));
  a.Add("map again", cuMemMap(p, 2 * grain, 0, h, 0));
  a.Add("map alias", cuMemMap(p + 2 * grain, 2 * grain, 0, h, 0));
  a.Add("set before access", cuMemsetD8(p, 1, 64));
  unsigned long long flags = 0;
  a.Add("access before", cuMemGetAccess(&flags, &prop.location, p), flags);
  CUmemAccessDesc access = {};
  access.location = prop.location, access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  a.Add("set access beyond", cuMemSetAccess(p, 8 * grain, &access, 1));
  a.Add("set access part", cuMemSetAccess(p, grain, &access, 1));
  a.Add("set access", cuMemSetAccess(p, 4 * grain, &access, 1));
  a.Add("set access odd", cuMemSetAccess(p, 100, &access, 1));
  a.Add("access", cuMemGetAccess(&flags, &prop.location, p + 100), flags);
  a.Add("set", cuMemsetD8(p, 7, 64));
  unsigned char byte = 0;
  a.Add("read alias", cuMemcpyDtoH(&byte, p + 2 * grain, 1), byte);
  a.Add("copy over both mappings", cuMemcpyDtoD(p + 2 * grain - 8, p + 3 * grain, 16));
  CUdeviceptr base = 0;
  size_t size = 0;
  a.Add("mapped address range", cuMemGetAddressRange(&base, &size, p + grain + 5), base - p, size);
  cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + grain + 5);
  a.Add("mapped range size", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + grain + 5),
        size, base - p);
  a.Add("retain", cuMemRetainAllocationHandle(&same, reinterpret_cast<void*>(p + grain)), same == h);
  a.Add("release retained", cuMemRelease(same));
  CUmemAllocationProp told = {};
  a.Add("properties", cuMemGetAllocationPropertiesFromHandle(&told, h), told.type, told.location.type,
        told.location.id);
  int fd = 0;
  a.Add("export without handle type",
        cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  a.Add("release", cuMemRelease(h));
  a.Add("read after release", cuMemcpyDtoH(&byte, p, 1), byte);
  a.Add("free of mapped", cuMemFree(p));
  a.Add("unmap part", cuMemUnmap(p, grain));
  a.Add("address free while mapped", cuMemAddressFree(p, 4 * grain));
  a.Add("unmap", cuMemUnmap(p, 2 * grain));
  a.Add("unmap alias", cuMemUnmap(p + 2 * grain, 2 * grain));
  a.Add("unmap again", cuMemUnmap(p, 2 * grain));
  a.Add("address free part", cuMemAddressFree(p, grain));
  a.Add("address free", cuMemAddressFree(p, 4 * grain));
  a.Add("address free again", cuMemAddressFree(p, 4 * grain));
}

inline void AskManaged(Answers& a) {
  Blocks b;
  CUmemLocation here = {}, host = {}, wrong = {};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE, host.type = CU_MEM_LOCATION_TYPE_HOST;
  wrong.type = CU_MEM_LOCATION_TYPE_DEVICE, wrong.id = 99;
  for (const auto& [name, pointer] : b.All()) {
    if (name == "nowhere" || name == "pageable") continue;
    a.Add("advise " + name, cuMemAdvise(pointer, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    a.Add("prefetch " + name, cuMemPrefetchAsync(pointer, 4096, here, 0, b.stream));
    int value = -7;
    a.Add("read mostly " + name,
          cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, pointer, 4096), value);
  }
  const CUdeviceptr m = b.managed;
  int value = 0, many[4] = {-7, -7, -7, -7};
  auto get = [&](const std::string& label, CUmem_range_attribute attribute) {
    value = -7;
    const CUresult code = cuMemRangeGetAttribute(&value, 4, attribute, m, 4096);
    a.Add(label, code, value);
  };
  get("last prefetch", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
  cuMemPrefetchAsync(m, 4096, host, 0, b.stream);
  cuStreamSynchronize(b.stream);
  get("last prefetch after host", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
  get("last prefetch type", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE);
  get("preferred", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
  get("preferred type", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE);
  a.Add("prefer device", cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
  get("preferred after device", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
  get("preferred type after device", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE);
  get("preferred id after device", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID);
  a.Add("prefer host", cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  get("preferred after host", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
  a.Add("prefer none", cuMemAdvise(m, 4096, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, host));
  get("preferred after none", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
  auto accessed = [&](const std::string& label) {
    for (int& v : many) v = -7;
    const CUresult code =
        cuMemRangeGetAttribute(many, sizeof many, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, 4096);
    a.Add(label, code, many[0], many[1], many[2], many[3]);
  };
  accessed("accessed by");
  cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, host);
  accessed("accessed by host");
  cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, here);
  accessed("accessed by both");
  cuMemAdvise(m, 4096, CU_MEM_ADVISE_UNSET_ACCESSED_BY, host);
  accessed("accessed by device");
  get("read mostly before", CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY);
  cuMemAdvise(m, 4096, CU_MEM_ADVISE_UNSET_READ_MOSTLY, host);
  get("read mostly after", CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY);
  a.Add("advise nothing", cuMemAdvise(m, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  a.Add("advise past the end", cuMemAdvise(m, 8 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  a.Add("advise 0", cuMemAdvise(m, 4096, static_cast<CUmem_advise>(0), here));
  a.Add("advise 99", cuMemAdvise(m, 4096, static_cast<CUmem_advise>(99), here));
  a.Add("advise device 99", cuMemAdvise(m, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, wrong));
  a.Add("prefetch device 99", cuMemPrefetchAsync(m, 4096, wrong, 0, b.stream));
  a.Add("prefetch nothing", cuMemPrefetchAsync(m, 0, here, 0, b.stream));
  a.Add("prefetch flags", cuMemPrefetchAsync(m, 4096, here, 1, b.stream));
  a.Add("range attribute size 3",
        cuMemRangeGetAttribute(&value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 4096));
  a.Add("range attribute 99",
        cuMemRangeGetAttribute(&value, 4, static_cast<CUmem_range_attribute>(99), m, 4096));
  a.Add("range attribute of nothing",
        cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 0));
  cuCtxSynchronize();
}

inline void AskBatches(Answers& a) {
  Blocks b;
  char host[256] = {};
  CUdeviceptr to[2] = {b.device, b.device + 64}, from[2] = {Address(host), Address(host) + 64};
  size_t sizes[2] = {64, 64}, first[2] = {0, 1};
  CUmemcpyAttributes order[2] = {};
  order[0].srcAccessOrder = order[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  auto ask = [&](const std::string& label, size_t count, size_t attributes, CUstream stream) {
    a.Add("batch " + label, cuMemcpyBatchAsync(to, from, sizes, count, order, first, attributes, stream));
    cuCtxSynchronize();
  };
  ask("plain", 2, 2, b.stream);
  ask("one attribute", 2, 1, b.stream);
  ask("no attribute", 2, 0, b.stream);
  ask("of none", 0, 0, b.stream);
  ask("too many attributes", 1, 2, b.stream);
  ask("null stream", 2, 2, nullptr);
  first[0] = 1;
  ask("first index 1", 2, 2, b.stream);
  first[0] = 0, first[1] = 0;
  ask("same index twice", 2, 2, b.stream);
  first[1] = 1, order[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  ask("no order", 2, 2, b.stream);
  order[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY, sizes[1] = 0;
  ask("size 0", 2, 2, b.stream);
  sizes[1] = 5000;
  ask("past the end", 2, 2, b.stream);
  sizes[1] = 64, to[1] = 0;
  ask("to null", 2, 2, b.stream);
}

}  // namespace memory_questions
