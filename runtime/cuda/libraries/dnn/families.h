// The table of cuDNN (cudnn.api) has no families.
#pragma once
