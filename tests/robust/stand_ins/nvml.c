/* Stands in for libnvidia-ml.so.1: two GPUs, the second of which tells little; STAND_IN_PID runs on the first. */
#include <stdlib.h>
#include <string.h>

typedef unsigned u;
typedef unsigned long long ull;
enum { OK = 0, NOT_SUPPORTED = 3 };
#define FIRST(device) if ((size_t)(device) != 1) return NOT_SUPPORTED
#define VALUE(name, type, value) int name(void *device, type *out) { FIRST(device); return *out = (value), OK; }

int nvmlInit_v2(void) { return getenv("STAND_IN_NVML") ? atoi(getenv("STAND_IN_NVML")) : OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int status) { return (void)status, "a simulated fault"; }
int nvmlSystemGetDriverVersion(char *text, u size) { return strncpy(text, "580.95.05", size), OK; }
int nvmlSystemGetProcessName(u pid, char *text, u size) { return (void)pid, strncpy(text, "/usr/bin/other", size), OK; }
int nvmlDeviceGetCount_v2(u *count) { return *count = 2, OK; }
int nvmlDeviceGetHandleByIndex_v2(u index, void **device) { return *device = (void *)(size_t)(index + 1), OK; }
int nvmlDeviceGetName(void *device, char *text, u size) {
    return strncpy(text, (size_t)device == 1 ? "NVIDIA Stand-in" : "NVIDIA \"Mute\"", size), OK;
}
int nvmlDeviceGetUUID(void *device, char *text, u size) {
    return strncpy(text, (size_t)device == 1 ? "GPU-01010101-0101-0101-0101-010101010101" : "GPU-2", size), OK;
}
int nvmlDeviceGetUtilizationRates(void *device, u out[2]) { FIRST(device); return out[0] = 83, out[1] = 41, OK; }
struct memory { u version; ull total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory *out) {
    FIRST(device);
    return out->total = 80ull << 30, out->used = 20ull << 30, out->free = 60ull << 30, out->reserved = 0, OK;
}
int nvmlDeviceGetTemperature(void *device, int sensor, u *out) { FIRST(device); return (void)sensor, *out = 66, OK; }
int nvmlDeviceGetTemperatureThreshold(void *device, int kind, u *out) { FIRST(device); return (void)kind, *out = 90, OK; }
VALUE(nvmlDeviceGetPowerUsage, u, 412500)
VALUE(nvmlDeviceGetEnforcedPowerLimit, u, 700000)
VALUE(nvmlDeviceGetTotalEnergyConsumption, ull, 5000000)
VALUE(nvmlDeviceGetCurrPcieLinkGeneration, u, 4)
VALUE(nvmlDeviceGetCurrPcieLinkWidth, u, 8)
VALUE(nvmlDeviceGetMaxPcieLinkGeneration, u, 5)
VALUE(nvmlDeviceGetMaxPcieLinkWidth, u, 16)
VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, ull, 0x4 | 0x40)
int nvmlDeviceGetClockInfo(void *device, int kind, u *out) { FIRST(device); return *out = kind == 2 ? 2600 : 1400, OK; }
int nvmlDeviceGetMaxClockInfo(void *device, int kind, u *out) { FIRST(device); return *out = kind == 2 ? 2600 : 1980, OK; }
int nvmlDeviceGetPcieThroughput(void *device, int way, u *out) { FIRST(device); return *out = way ? 2048 : 1024, OK; }
int nvmlDeviceGetNvLinkState(void *device, u link, int *out) { FIRST(device); return link < 2 ? (*out = link == 0, OK) : 2; }
int nvmlDeviceGetNvLinkVersion(void *device, u link, u *out) { FIRST(device); return (void)link, *out = 4, OK; }
struct process { u pid; ull memory; u instance, compute; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, u *count, struct process *out) {
    FIRST(device);
    if (*count == 0) return *count = 1, 7;
    const char *pid = getenv("STAND_IN_PID");
    out[0] = (struct process){pid ? (u)atoi(pid) : 999999999u, 3ull << 30, ~0u, ~0u};
    return *count = 1, OK;
}
