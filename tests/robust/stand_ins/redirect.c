/* Preloaded into a process, shows it another machine: what lies in STAND_IN_ROOT stands in for /dev/nvidia*, /dev/dxg,
   /sys/bus/pci, /proc/driver/nvidia and the marks of containers and WSL. With STAND_IN_DENY device nodes do not open. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static const char *const REPLACED[] = {"/dev/nvidia", "/dev/dxg", "/sys/bus/pci", "/proc/driver/nvidia", "/proc/version",
                                       "/proc/1/cgroup", "/.dockerenv", "/run/.containerenv"};

static const char *redirect(const char *path, char *buffer) {
    const char *root = getenv("STAND_IN_ROOT");
    if (!root || !path) return path;
    for (size_t i = 0; i < sizeof REPLACED / sizeof *REPLACED; i++)
        if (!strncmp(path, REPLACED[i], strlen(REPLACED[i]))) {
            snprintf(buffer, 4096, "%s%s", root, path);
            return buffer;
        }
    return path;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    char buffer[4096];
    if (getenv("STAND_IN_DENY") && !strncmp(path, "/dev/nvidia", 11)) {
        errno = EACCES;
        return -1;
    }
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    return real(redirect(path, buffer), flags, mode);
}

#define MODE                                          \
    mode_t mode = 0;                                  \
    if (flags & (O_CREAT | O_TMPFILE)) {              \
        va_list rest;                                 \
        va_start(rest, flags);                        \
        mode = va_arg(rest, mode_t);                  \
        va_end(rest);                                 \
    }

int open(const char *path, int flags, ...) { MODE return opened("open", path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened("open64", path, flags, mode); }

DIR *opendir(const char *path) {
    char buffer[4096];
    const char *root = getenv("STAND_IN_ROOT");
    if (root && !strcmp(path, "/dev")) {
        snprintf(buffer, sizeof buffer, "%s/dev", root);
        path = buffer;
    }
    char again[4096];
    return REAL(opendir)(redirect(path, again));
}

int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict out) {
    char buffer[4096];
    return REAL(statx)(at, redirect(path, buffer), flags, mask, out);
}
