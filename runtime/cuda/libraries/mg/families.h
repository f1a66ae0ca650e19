// The table (cusolvermg.api) has no families.
#pragma once
