// The table of NVML (nvml.api) has no families.
#pragma once
