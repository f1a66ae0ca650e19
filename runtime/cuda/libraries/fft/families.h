// The table of cuFFT (cufft.api) has no families.
#pragma once
