// Stands between a program and its files (LD_PRELOAD): counts what it does below one folder, and at the n-th such call
// fails, does half of it, or kills. Nothing outside that folder is touched, so that libraries load as they always do.
//
//   CAMPAIGN_UNDER   the folder
//   CAMPAIGN_LOG     appended to: a line "CALL N PATH" for every call that counts
//   CAMPAIGN_FAULT   CALL:N:WHAT[:always]  at the N-th CALL (from 1; "change" is any that changes something on disk)
//                    WHAT: an error number; `kill`; `short` (half of the bytes); `done` (it is done, and yet EIO is
//                    told, as network file systems do when an answer is lost)
//   CAMPAIGN_FIRED   appended to: a line for each fault that was injected, "crash 0 LIBRARY" where the process crashed
//                    in code of LIBRARY, and "clock 0" once the clock has jumped
//   CAMPAIGN_CLOCK   N:SECONDS  from the N-th look at the time of day on, it is so much later (or earlier)
//
// Memory counts once a file below the folder has been opened: `memory` is any allocation of 4 KiB or more.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { kOpen, kRead, kWrite, kFlush, kRename, kLink, kRemove, kFolder, kResize, kMap, kLock, kList, kMemory, kChange, kCalls };
static const char* const kNames[kCalls] = {"open",   "read",   "write", "flush", "rename", "link",   "remove",
                                           "folder", "resize", "map",   "lock",  "list",   "memory", "change"};
enum { kNone = 0, kKill = -1, kShort = -2, kDone = -3 };
enum { kDescriptors = 65536, kLargeAllocation = 4096 };

static char under[PATH_MAX];
static size_t under_length;
static _Atomic unsigned char tracked[kDescriptors];
static atomic_long counts[kCalls];
static int fault_call = -1, fault_what, fault_always;
static long fault_at;
static int log_descriptor = -1, fired_descriptor = -1;
static long clock_at;
static long clock_jump;
static atomic_long clock_reads;
static atomic_int has_begun;
static __thread int inside;  // our own calls count for nothing

#define REAL(type, name, ...)                                             \
  static type (*real)(__VA_ARGS__);                                       \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

// Where memory is refused some libraries crash: tells which, and ends as it would have.
static void say_where(int number, siginfo_t* info, void* context);

static int open_log(const char* variable) {
  const char* path = getenv(variable);
  if (!path) return -1;
  const int opened = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (opened < 0) return -1;
  const int high = fcntl(opened, F_DUPFD_CLOEXEC, 500);
  syscall(SYS_close, opened);
  return high;
}

__attribute__((constructor)) static void begin(void) {
  const char* folder = getenv("CAMPAIGN_UNDER");
  if (!folder) return;
  snprintf(under, sizeof under, "%s", folder);
  under_length = strlen(under);
  log_descriptor = open_log("CAMPAIGN_LOG");
  fired_descriptor = open_log("CAMPAIGN_FIRED");
  const struct sigaction action = {.sa_sigaction = say_where, .sa_flags = SA_SIGINFO | SA_RESETHAND};
  sigaction(SIGSEGV, &action, NULL);
  const char* clock = getenv("CAMPAIGN_CLOCK");
  if (clock) sscanf(clock, "%ld:%ld", &clock_at, &clock_jump);
  const char* fault = getenv("CAMPAIGN_FAULT");
  char call[32], what[32], mode[32] = "";
  if (!fault || sscanf(fault, "%31[^:]:%ld:%31[^:]:%31s", call, &fault_at, what, mode) < 3) return;
  for (int i = 0; i < kCalls; ++i)
    if (!strcmp(call, kNames[i])) fault_call = i;
  fault_what = !strcmp(what, "kill") ? kKill : !strcmp(what, "short") ? kShort : !strcmp(what, "done") ? kDone : atoi(what);
  fault_always = !strcmp(mode, "always");
}

static int is_under(int folder, const char* path) {
  char whole[PATH_MAX];
  if (!under_length || !path) return 0;
  if (!strncmp(path, "/proc/self/fd/", 14)) {
    const int descriptor = atoi(path + 14);
    return descriptor >= 0 && descriptor < kDescriptors && tracked[descriptor];
  }
  if (path[0] != '/') {
    if (folder != AT_FDCWD) return folder >= 0 && folder < kDescriptors && tracked[folder];
    if (syscall(SYS_getcwd, whole, sizeof whole) < 0) return 0;
    return !strncmp(whole, under, under_length);
  }
  return !strncmp(path, under, under_length);
}

static int is_tracked(int descriptor) {
  return descriptor >= 0 && descriptor < kDescriptors && tracked[descriptor];
}

static void say(int descriptor, int call, long n, const char* path) {
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%s %ld %s\n", kNames[call], n, path ? path : "");
  if (syscall(SYS_write, descriptor, line, (size_t)length) < 0) return;
}

static const char* path_of(int descriptor, char* space) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, space, PATH_MAX - 1);
  space[length > 0 ? length : 0] = 0;
  return space;
}

static void say_where(int number, siginfo_t* info, void* context) {
  (void)info;
  Dl_info place;
  const void* const at = (void*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "crash 0 %s\n", dladdr(at, &place) && place.dli_fname ? place.dli_fname : "unknown code");
  if (fired_descriptor >= 0 && syscall(SYS_write, fired_descriptor, line, (size_t)length) < 0) return;
  raise(number);
}

// Counts the call; what is to happen instead of it.
static int count(int call, const char* path) {
  const long n = atomic_fetch_add(&counts[call], 1) + 1;
  if (log_descriptor >= 0 && call != kMemory) say(log_descriptor, call, n, path);
  if (call != fault_call || !(n == fault_at || (fault_always && n >= fault_at))) return kNone;
  if (fired_descriptor >= 0) say(fired_descriptor, call, n, path);
  if (fault_what == kKill) {
    kill(0, SIGKILL);
    for (;;) pause();
  }
  return fault_what;
}

static int count_change(int call, const char* path) {
  const int change = count(kChange, path);
  const int own = count(call, path);
  return own != kNone ? own : change;
}

#define FAIL_IF(what) \
  if ((what) > 0) {   \
    errno = (what);   \
    return -1;        \
  }
#define DONE_YET(what, result) \
  if ((what) == kDone && (result) >= 0) { \
    errno = EIO;                \
    return -1;                  \
  }

static int tracked_open(int folder, const char* path, int flags, mode_t mode) {
  if (inside || !is_under(folder, path)) return (int)syscall(SYS_openat, folder, path, flags, mode);
  const int changes = flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE;
  const int what = changes ? count_change(kOpen, path) : count(kOpen, path);
  FAIL_IF(what);
  const int opened = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (opened >= 0 && opened < kDescriptors) tracked[opened] = 1;
  atomic_store(&has_begun, 1);
  return opened;
}

#define MODE_OF(flags, mode)                                        \
  mode_t mode = 0;                                                  \
  if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {    \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode = va_arg(rest, mode_t);                                    \
    va_end(rest);                                                   \
  }

int open(const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return tracked_open(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return tracked_open(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return tracked_open(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return tracked_open(folder, path, flags | O_LARGEFILE, mode);
}

FILE* fopen(const char* path, const char* mode) {
  REAL(FILE*, "fopen", const char*, const char*);
  if (inside || !is_under(AT_FDCWD, path)) return real(path, mode);
  const int what = strchr(mode, 'r') ? count(kOpen, path) : count_change(kOpen, path);
  if (what > 0) {
    errno = what;
    return NULL;
  }
  FILE* const file = real(path, mode);
  if (file && fileno(file) < kDescriptors) tracked[fileno(file)] = 1;
  atomic_store(&has_begun, 1);
  return file;
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < kDescriptors) tracked[descriptor] = 0;
  return (int)syscall(SYS_close, descriptor);
}

#define COUNT_DESCRIPTOR(counter, call, descriptor)                 \
  char space_[PATH_MAX];                                            \
  const int what = counter(call, log_descriptor >= 0 || fired_descriptor >= 0 ? path_of(descriptor, space_) : ""); \
  FAIL_IF(what)

ssize_t read(int descriptor, void* bytes, size_t size) {
  if (inside || !is_tracked(descriptor)) return syscall(SYS_read, descriptor, bytes, size);
  COUNT_DESCRIPTOR(count, kRead, descriptor)
  return syscall(SYS_read, descriptor, bytes, what == kShort ? (size + 1) / 2 : size);
}
ssize_t __read_chk(int descriptor, void* bytes, size_t size, size_t room) {
  (void)room;
  return read(descriptor, bytes, size);
}
ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  if (inside || !is_tracked(descriptor)) return syscall(SYS_pread64, descriptor, bytes, size, offset);
  COUNT_DESCRIPTOR(count, kRead, descriptor)
  return syscall(SYS_pread64, descriptor, bytes, what == kShort ? (size + 1) / 2 : size, offset);
}
ssize_t pread64(int descriptor, void* bytes, size_t size, off_t offset) { return pread(descriptor, bytes, size, offset); }
ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (inside || !is_tracked(descriptor)) return syscall(SYS_write, descriptor, bytes, size);
  COUNT_DESCRIPTOR(count_change, kWrite, descriptor)
  const ssize_t written = syscall(SYS_write, descriptor, bytes, what == kShort ? (size + 1) / 2 : size);
  DONE_YET(what, written)
  return written;
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  if (inside || !is_tracked(descriptor)) return syscall(SYS_pwrite64, descriptor, bytes, size, offset);
  COUNT_DESCRIPTOR(count_change, kWrite, descriptor)
  const ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, what == kShort ? (size + 1) / 2 : size, offset);
  DONE_YET(what, written)
  return written;
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t offset) { return pwrite(descriptor, bytes, size, offset); }
ssize_t writev(int descriptor, const struct iovec* parts, int n) {
  if (inside || !is_tracked(descriptor)) return syscall(SYS_writev, descriptor, parts, n);
  COUNT_DESCRIPTOR(count_change, kWrite, descriptor)
  return syscall(SYS_writev, descriptor, parts, what == kShort && n > 1 ? 1 : n);
}
int fsync(int descriptor) {
  if (inside || !is_tracked(descriptor)) return (int)syscall(SYS_fsync, descriptor);
  COUNT_DESCRIPTOR(count_change, kFlush, descriptor)
  return (int)syscall(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) {
  if (inside || !is_tracked(descriptor)) return (int)syscall(SYS_fdatasync, descriptor);
  COUNT_DESCRIPTOR(count_change, kFlush, descriptor)
  return (int)syscall(SYS_fdatasync, descriptor);
}
int ftruncate(int descriptor, off_t size) {
  if (inside || !is_tracked(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, size);
  COUNT_DESCRIPTOR(count_change, kResize, descriptor)
  return (int)syscall(SYS_ftruncate, descriptor, size);
}
int ftruncate64(int descriptor, off_t size) { return ftruncate(descriptor, size); }
int flock(int descriptor, int operation) {
  if (inside || !is_tracked(descriptor)) return (int)syscall(SYS_flock, descriptor, operation);
  COUNT_DESCRIPTOR(count, kLock, descriptor)
  return (int)syscall(SYS_flock, descriptor, operation);
}
void* mmap(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (!inside && is_tracked(descriptor)) {
    char space[PATH_MAX];
    const int what = count(kMap, path_of(descriptor, space));
    if (what > 0) {
      errno = what;
      return MAP_FAILED;
    }
  }
  return (void*)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
}
void* mmap64(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return mmap(address, size, protection, flags, descriptor, offset);
}

int rename(const char* from, const char* to) {
  if (inside || !is_under(AT_FDCWD, to)) return (int)syscall(SYS_rename, from, to);
  const int what = count_change(kRename, to);
  FAIL_IF(what);
  const int result = (int)syscall(SYS_rename, from, to);
  DONE_YET(what, result)
  return result;
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (inside || !is_under(to_folder, to)) return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
  const int what = count_change(kLink, to);
  FAIL_IF(what);
  const int result = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
  DONE_YET(what, result)
  return result;
}
int link(const char* from, const char* to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlink(const char* target, const char* path) {
  if (inside || !is_under(AT_FDCWD, path)) return (int)syscall(SYS_symlink, target, path);
  const int what = count_change(kLink, path);
  FAIL_IF(what);
  return (int)syscall(SYS_symlink, target, path);
}
static int tracked_remove(int folder, const char* path, int flags) {
  if (inside || !is_under(folder, path)) return (int)syscall(SYS_unlinkat, folder, path, flags);
  const int what = count_change(kRemove, path);
  FAIL_IF(what);
  const int result = (int)syscall(SYS_unlinkat, folder, path, flags);
  DONE_YET(what, result)
  return result;
}
int unlink(const char* path) { return tracked_remove(AT_FDCWD, path, 0); }
int rmdir(const char* path) { return tracked_remove(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int folder, const char* path, int flags) { return tracked_remove(folder, path, flags); }
int remove(const char* path) {
  const int result = unlink(path);
  return result < 0 && errno == EISDIR ? rmdir(path) : result;
}
int mkdir(const char* path, mode_t mode) {
  if (inside || !is_under(AT_FDCWD, path)) return (int)syscall(SYS_mkdir, path, mode);
  const int what = count_change(kFolder, path);
  FAIL_IF(what);
  return (int)syscall(SYS_mkdir, path, mode);
}

static struct dirent* counted_entry(DIR* folder, struct dirent* (*real)(DIR*)) {
  if (!inside && is_tracked(dirfd(folder))) {
    char space[PATH_MAX];
    const int what = count(kList, path_of(dirfd(folder), space));
    if (what > 0) {
      errno = what;
      return NULL;
    }
  }
  return real(folder);
}
DIR* opendir(const char* path) {
  REAL(DIR*, "opendir", const char*);
  if (inside || !is_under(AT_FDCWD, path)) return real(path);
  const int what = count(kOpen, path);
  if (what > 0) {
    errno = what;
    return NULL;
  }
  DIR* const folder = real(path);
  if (folder && dirfd(folder) < kDescriptors) tracked[dirfd(folder)] = 1;
  return folder;
}
int closedir(DIR* folder) {
  REAL(int, "closedir", DIR*);
  if (dirfd(folder) >= 0 && dirfd(folder) < kDescriptors) tracked[dirfd(folder)] = 0;
  return real(folder);
}
struct dirent* readdir(DIR* folder) {
  REAL(struct dirent*, "readdir", DIR*);
  return counted_entry(folder, real);
}
struct dirent64* readdir64(DIR* folder) { return (struct dirent64*)readdir(folder); }

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t n, size_t size);
extern void* __libc_realloc(void* old, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

static int no_memory(size_t size) {
  if (fault_call != kMemory && log_descriptor < 0) return 0;
  if (inside || size < kLargeAllocation || !atomic_load(&has_begun)) return 0;
  inside = 1;
  const int what = count(kMemory, "");
  inside = 0;
  if (what <= 0) return 0;
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t size) { return no_memory(size) ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return no_memory(n * size) ? NULL : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { return no_memory(size) ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return no_memory(size) ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) {
  if (no_memory(size)) return ENOMEM;
  void* const allocated = __libc_memalign(alignment, size);
  if (!allocated) return ENOMEM;
  *result = allocated;
  return 0;
}

static long jump_now(void) {
  if (!clock_at) return 0;
  const long read = atomic_fetch_add(&clock_reads, 1) + 1;
  if (read == clock_at && fired_descriptor >= 0 && syscall(SYS_write, fired_descriptor, "clock 0 \n", 9) < 0) return 0;
  return read >= clock_at ? clock_jump : 0;
}
int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += jump_now();
  return result;
}
int gettimeofday(struct timeval* time, void* zone) {
  const int result = (int)syscall(SYS_gettimeofday, time, zone);
  time->tv_sec += jump_now();
  return result;
}
time_t time(time_t* result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

// How much of everything there was, for the campaign's counters.
__attribute__((destructor)) static void end(void) {
  if (log_descriptor < 0) return;
  const long allocations = atomic_load(&counts[kMemory]);
  if (allocations) say(log_descriptor, kMemory, allocations, "");
}
