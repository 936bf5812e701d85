// Stands in for the host's header of this name where CUDA C++ is compiled without one: malloc and free are the compiler's own.
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#include_next <stdlib.h>
#else
#pragma once
#ifndef EXIT_SUCCESS
#define EXIT_SUCCESS 0
#endif
#ifndef EXIT_FAILURE
#define EXIT_FAILURE 1
#endif
#ifndef RAND_MAX
#define RAND_MAX 2147483647
#endif
#endif
