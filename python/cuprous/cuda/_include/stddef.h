// Stands in for the host's header of this name where CUDA C++ is compiled without one: NVRTC has size_t and ptrdiff_t itself.
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#include_next <stddef.h>
#else
#pragma once
#ifdef __HIPCC_RTC__
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#endif
#endif
