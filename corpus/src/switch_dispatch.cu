// Switch statements.

// A little stack machine: every thread interprets the same byte code on its own input, so the switch is uniform.
extern "C" __global__ void switch_stack_machine(const unsigned char* program, unsigned length, const int* in, int* out,
                                                unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int stack[8];
  int top = 0;
  stack[0] = in[i];
  for (unsigned pc = 0; pc < length; ++pc) {
    int x = stack[top];
    switch (program[pc] & 15) {
      case 0: stack[++top] = x; break;                             // duplicate
      case 1: stack[--top] += x; break;
      case 2: stack[--top] -= x; break;
      case 3: stack[--top] *= x; break;
      case 4: stack[top] = x >> 1; break;
      case 5: stack[top] = ~x; break;
      case 6: stack[++top] = (int)(program[pc] >> 4); break;       // push a small number
      case 7: if (x <= 0) pc += program[pc] >> 4; --top; break;    // skip forward unless above zero
      case 8: stack[top] = stack[top - 1]; stack[top - 1] = x; break;
      case 9: stack[top] = max(x, -x); break;
      default: break;
    }
  }
  out[i] = stack[top];
}

// The arm is picked by the data of each lane; one arm falls through, some values have no arm.
extern "C" __global__ void switch_divergent(const unsigned* in, unsigned* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = in[i], y = x / 8;
  switch (x % 12) {
    case 0: y = y * 3 + 1; break;
    case 1: y = y / 7; break;
    case 2: y ^= 0x5a5a5a5au;  // falls through
    case 3: y += i; break;
    case 4: y = __popc(y); break;
    case 5: y = y << (i % 31); break;
    case 6: y = y % 1000; break;
    case 7: y = ~y; break;
    case 9: y = 0xffffffffu - i; break;
  }
  out[i] = y;
}
