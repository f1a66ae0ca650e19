// The table of NCCL (nccl.api) has no families.
#pragma once
