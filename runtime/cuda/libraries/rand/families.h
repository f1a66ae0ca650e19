// The table of cuRAND (curand.api) has no families.
#pragma once
