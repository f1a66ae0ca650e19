// A branch through a table of labels (brx.idx), in the words of PTX because the compiler writes none: the lanes of a
// warp take different ways, and each way has a collective of those that took it. The block size is a multiple of 32.
extern "C" __global__ void branch_table_collectives(const unsigned* in, unsigned* out, unsigned rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
#pragma unroll 1
  for (unsigned r = 0; r < rounds; ++r) {
    unsigned way = (value + r) % 5, members = __match_any_sync(0xffffffffu, way);
    unsigned leader = (unsigned)__ffs((int)members) - 1, votes = 0;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        ".reg .u32 t;\n"
        "ways: .branchtargets first, count, odd, both, both;\n"
        "brx.idx %2, ways;\n"
        "first:\n"
        "shfl.sync.idx.b32 %0, %0, %4, 31, %3;\n"
        "bra.uni met;\n"
        "count:\n"
        "popc.b32 t, %3;\n"
        "mad.lo.u32 %0, %0, 3, t;\n"
        "bra.uni met;\n"
        "both:\n"
        "add.u32 %0, %0, 11;\n"
        "odd:\n"
        "and.b32 t, %0, 1;\n"
        "setp.ne.u32 p, t, 0;\n"
        "vote.sync.ballot.b32 %1, p, %3;\n"
        "met:\n"
        "}"
        : "+r"(value), "+r"(votes)
        : "r"(way), "r"(members), "r"(leader));
    value += votes + r;
  }
  out[i] = value;
}
