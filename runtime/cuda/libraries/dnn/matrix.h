// Products of matrices stored by rows. LoadBlas must come before. Results do not depend on the number of
// threads.
#pragma once

#include <cstdint>

namespace ptx2cpu::cudnn {

// c = op(a) * op(b) + beta * c, by rows; c has m rows and n columns.
template <typename R>
void Multiply(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const R* a, int64_t lda, const R* b,
              int64_t ldb, R beta, R* c, int64_t ldc);
// The same on the calling thread, for what is a piece of parallel work itself.
template <typename R>
void MultiplyHere(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const R* a, int64_t lda, const R* b,
                  int64_t ldb, R beta, R* c, int64_t ldc);

}  // namespace ptx2cpu::cudnn
