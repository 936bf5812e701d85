// Stands in for the host's header of this name where CUDA C++ is compiled without one: assert is the compiler's own.
#ifndef __CUDACC_RTC__
#include_next <assert.h>
#else
#pragma once
#endif
