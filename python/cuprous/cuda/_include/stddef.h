// Stands in for the host's header of this name where CUDA C++ is compiled without one: size_t and ptrdiff_t are the compiler's own.
#ifndef __CUDACC_RTC__
#include_next <stddef.h>
#else
#pragma once
#endif
