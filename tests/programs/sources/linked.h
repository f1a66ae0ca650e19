// What the two pieces of the linked program share.
#pragma once
using Operation = int (*)(int, int);
extern __device__ int other_table[4];
extern __device__ int of_main;
extern __device__ Operation operations[3];
__device__ int OtherFunction(int x);
void LaunchOther(int* out, int n);
