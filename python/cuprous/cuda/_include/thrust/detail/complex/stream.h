// Stands before CCCL's header of this name: reading and writing complex numbers as text needs the host's streams, which
// NVRTC has not, and without which it refuses all of <thrust/complex.h>.
#pragma once
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#include_next <thrust/detail/complex/stream.h>
#endif
