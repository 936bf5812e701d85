/* Stands in for libamd_smi.so.26: two GPUs in one socket, the second of which tells little; STAND_IN_PID runs on the first. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 2 };
typedef void *handle;
#define FIRST(gpu) if ((size_t)(gpu) != 1) return NOT_SUPPORTED
#define VALUE(name, value) int name(handle gpu, int kind, uint64_t *out) { FIRST(gpu); return (void)kind, *out = (value), OK; }

struct version { uint32_t major, minor, release; const char *build; };
int amdsmi_init(uint64_t flags) { return flags == 2 ? OK : NOT_SUPPORTED; }
int amdsmi_shut_down(void) { return OK; }
int amdsmi_get_lib_version(struct version *out) {
    return out->major = getenv("STAND_IN_AMDSMI") ? atoi(getenv("STAND_IN_AMDSMI")) : 26, OK;
}
static int list(uint32_t *count, handle *out, uint32_t all) {
    if (out)
        for (uint32_t k = 0; k < *count && k < all; k++) out[k] = (handle)(size_t)(k + 1);
    return *count = all, OK;
}
int amdsmi_get_socket_handles(uint32_t *count, handle *out) { return list(count, out, 1); }
int amdsmi_get_processor_handles(handle socket, uint32_t *count, handle *out) { return (void)socket, list(count, out, 2); }
struct driver { char version[256], date[256], name[256]; };
int amdsmi_get_gpu_driver_info(handle gpu, struct driver *out) { return (void)gpu, strcpy(out->version, "6.14.14"), OK; }
struct asic {
    char name[256]; uint32_t vendor; char maker[256]; uint32_t subvendor; uint64_t device; uint32_t revision;
    char serial[256];
};
int amdsmi_get_gpu_asic_info(handle gpu, struct asic *out) {
    return strcpy(out->name, (size_t)gpu == 1 ? "AMD Stand-in" : "AMD Mute"), OK;
}
struct numbers { uint32_t render, card, hsa, hip; char uuid[256]; };
int amdsmi_get_gpu_enumeration_info(handle gpu, struct numbers *out) {
    return strcpy(out->uuid, (size_t)gpu == 1 ? "GPU-9a2c5ad0c1b4ef10" : "GPU-9a2c5ad0c1b4ef11"), OK;
}
int amdsmi_get_gpu_activity(handle gpu, uint32_t out[16]) {
    return out[0] = (size_t)gpu == 1 ? 83 : UINT32_MAX, out[1] = (size_t)gpu == 1 ? 41 : UINT32_MAX, OK;
}
VALUE(amdsmi_get_gpu_memory_total, 192ull << 30)
VALUE(amdsmi_get_gpu_memory_usage, 20ull << 30)
/* As on data-center GPUs, there is no sensor at the edge (0), but one at the hottest place (1); 5 is the critical temperature. */
int amdsmi_get_temp_metric(handle gpu, int sensor, int metric, int64_t *out) {
    FIRST(gpu);
    return sensor == 1 ? (*out = metric == 0 ? 66 : 100, OK) : NOT_SUPPORTED;
}
struct power { uint64_t socket; uint32_t current, average; };
int amdsmi_get_power_info(handle gpu, struct power *out) {
    FIRST(gpu);
    return out->current = UINT32_MAX, out->average = 412, OK;
}
int amdsmi_get_power_cap_info(handle gpu, uint32_t sensor, uint64_t out[8]) {
    FIRST(gpu);
    return (void)sensor, out[0] = 750000000, OK;
}
int amdsmi_get_clock_info(handle gpu, int kind, uint32_t out[3]) {
    FIRST(gpu);
    return out[0] = kind == 4 ? 1300 : 1400, out[2] = kind == 4 ? 1300 : 2100, OK;
}
int amdsmi_get_gpu_fan_speed(handle gpu, uint32_t sensor, int64_t *out) { FIRST(gpu); return (void)sensor, *out = 51, OK; }
struct process {
    char name[256]; uint32_t pid; uint64_t memory; uint64_t gfx, enc; uint32_t later[12]; uint64_t gtt, cpu, vram;
    uint32_t rest[10]; char container[256]; uint32_t more[12];
};
int amdsmi_get_gpu_process_list(handle gpu, uint32_t *count, struct process *out) {
    FIRST(gpu);
    if (*count == 0) return *count = 1, OK;
    const char *pid = getenv("STAND_IN_PID");
    strcpy(out[0].name, "/usr/bin/other");
    out[0].pid = pid ? (uint32_t)atoi(pid) : 999999999u;
    return out[0].vram = 3ull << 30, out[0].memory = 4ull << 30, *count = 1, OK;
}
