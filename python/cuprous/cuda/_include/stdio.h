// Stands in for the host's header of this name where CUDA C++ is compiled without one: printf is the compiler's own.
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#include_next <stdio.h>
#else
#pragma once
#endif
