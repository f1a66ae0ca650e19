// The table of cuBLASLt (cublaslt.api) has no families.
#pragma once
