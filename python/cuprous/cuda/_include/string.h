// Stands in for the host's header of this name where CUDA C++ is compiled without one: memcpy and memset are the compiler's own.
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#include_next <string.h>
#else
#pragma once
#endif
