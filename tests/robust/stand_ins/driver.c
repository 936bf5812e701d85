/* Stands in for libcuda.so.1: as many functions as are asked before any work. STAND_IN_CUDA is the version, such as 12040,
   STAND_IN_INIT the status of cuInit, STAND_IN_COMPUTE the compute capability, such as 90. */
#include <stdlib.h>
#include <string.h>

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuDriverGetVersion(int *version) { return *version = number("STAND_IN_CUDA", 13000), 0; }
int cuInit(unsigned flags) { return (void)flags, number("STAND_IN_INIT", 0); }
int cuGetErrorName(int status, const char **text) { return (void)status, *text = "CUDA_ERROR_OF_A_STAND_IN", 0; }
int cuGetErrorString(int status, const char **text) { return (void)status, *text = "a simulated fault", 0; }
int cuDeviceGetCount(int *count) { return *count = number("STAND_IN_GPUS", 1), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = (size_t)8 << 30, 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { return memset(uuid, device + 1, 16), 0; }

int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    strncpy(name, "Stand-in", size);
    return 0;
}

int cuDeviceGetPCIBusId(char *name, int size, int device) {
    (void)device;
    strncpy(name, "0000:01:00.0", size);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    int compute = number("STAND_IN_COMPUTE", 90);
    *value = attribute == 75 ? compute / 10 : attribute == 76 ? compute % 10 : 64;
    return 0;
}
