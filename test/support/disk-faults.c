// What befalls the files of a service, put between it and the C library with LD_PRELOAD. The orders
// are in a small file that the test writes and this maps, so they can be given at any time. See
// disk-faults.ts for their meaning.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum action { NOTHING, COUNT, KILL, TEAR, CUT_POWER, FAIL_EIO, FAIL_ENOSPC };
enum call { WRITE = 1, SYNC = 2, TRUNCATE = 4, UNLINK = 8 };

struct orders {
  int64_t action;
  int64_t countdown; // the call that is hit, from 1
  int64_t calls;     // bits of enum call
  int64_t files;     // bits: control.db, its log, ledger.db, its log, measurements.db, its log
  int64_t times;     // so many calls fail, from that one on
  int64_t seed;      // of what a power cut leaves of what was not synced; 0: nothing
  int64_t clock_offset_ms;
  int64_t counted;
  int64_t sync_ms; // how long each sync of any file takes at least
  char last[200];
};

static struct orders *orders;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t slow_disk = PTHREAD_MUTEX_INITIALIZER;
static const char *const NAMES[] = {"control.db",      "control.db-wal",  "ledger.db",
                                    "ledger.db-wal",   "measurements.db", "measurements.db-wal"};
static const char *const CALLS[] = {"", "write", "sync", "", "truncate", "", "", "", "unlink"};

// What a file had before it was changed, since it was synced last.
struct change {
  struct change *before;
  int file;
  char path[512];
  off_t size, at;
  size_t length;
  char bytes[];
};
static struct change *changes;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);

__attribute__((constructor)) static void begin(void) {
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  const char *file = getenv("FAULT_ORDERS");
  int fd = file == NULL ? -1 : open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) orders = mapped;
}

static int file_by_path(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  for (int at = 0; at < 6; at++)
    if (strcmp(name, NAMES[at]) == 0) return at;
  return -1;
}

static int file_by_fd(int fd, char *path, size_t room) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, room - 1);
  if (length < 0) return -1;
  path[length] = '\0';
  return file_by_path(path);
}

static void remember(int fd, int file, const char *path, off_t at, size_t length) {
  struct stat is;
  if (fstat(fd, &is) != 0) return;
  size_t old = at >= is.st_size ? 0 : (size_t)(is.st_size - at) < length ? is.st_size - at : length;
  struct change *change = malloc(sizeof *change + old);
  if (change == NULL) return;
  // Closing a second descriptor would end the locks that SQLite has on the file.
  ssize_t got = pread(fd, change->bytes, old, at);
  change->before = changes;
  change->file = file;
  change->size = is.st_size;
  change->at = at;
  change->length = got < 0 ? 0 : (size_t)got;
  snprintf(change->path, sizeof change->path, "%s", path);
  changes = change;
}

static void forget(int file) {
  for (struct change **at = &changes; *at != NULL;) {
    struct change *change = *at;
    if (change->file == file) {
      *at = change->before;
      free(change);
    } else
      at = &change->before;
  }
}

// The last changes go first, so that each file is at last as it was.
static void take_back(void) {
  srand((unsigned)orders->seed);
  for (struct change *change = changes; change != NULL; change = change->before) {
    if (orders->seed != 0 && rand() % 2 == 0) continue;
    int fd = open(change->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) continue;
    if (change->length > 0) real_pwrite(fd, change->bytes, change->length, change->at);
    if (orders->seed == 0) real_ftruncate(fd, change->size);
    close(fd);
  }
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// Called with the mutex. @returns an errno that the call is to fail with, else 0
static int befall(int file, int call, int fd, const void *bytes, size_t length, off_t at) {
  if (orders->action == NOTHING) return 0;
  if ((orders->calls & call) == 0 || (orders->files & (1 << file)) == 0) return 0;
  orders->counted++;
  if (orders->countdown > 0) {
    if (--orders->countdown > 0 || orders->action == COUNT) return 0;
    snprintf(orders->last, sizeof orders->last, "%s of %s", CALLS[call], NAMES[file]);
    if (orders->action == TEAR && call == WRITE) real_pwrite(fd, bytes, length / 2, at);
    if (orders->action == CUT_POWER) take_back();
    if (orders->action <= CUT_POWER) die();
  }
  if (orders->action <= CUT_POWER || orders->times <= 0) return 0;
  orders->times--;
  return orders->action == FAIL_EIO ? EIO : ENOSPC;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) {
  char path[512];
  int file = orders == NULL || orders->action == NOTHING ? -1 : file_by_fd(fd, path, sizeof path);
  if (file < 0) return real_pwrite(fd, bytes, length, at);
  pthread_mutex_lock(&mutex);
  int failure = befall(file, WRITE, fd, bytes, length, at);
  if (failure == 0 && orders->action == CUT_POWER) remember(fd, file, path, at, length);
  ssize_t written = failure == 0 ? real_pwrite(fd, bytes, length, at) : -1;
  pthread_mutex_unlock(&mutex);
  if (failure != 0) errno = failure;
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  return pwrite64(fd, bytes, length, at);
}

// One sync at a time, as with the cards that are so slow.
static void delay_sync(void) {
  if (orders == NULL || orders->sync_ms <= 0) return;
  struct timespec delay = {orders->sync_ms / 1000, orders->sync_ms % 1000 * 1000000};
  pthread_mutex_lock(&slow_disk);
  nanosleep(&delay, NULL);
  pthread_mutex_unlock(&slow_disk);
}

static int sync_file(int fd, int (*real)(int)) {
  delay_sync();
  char path[512];
  int file = orders == NULL || orders->action == NOTHING ? -1 : file_by_fd(fd, path, sizeof path);
  if (file < 0) return real(fd);
  pthread_mutex_lock(&mutex);
  int failure = befall(file, SYNC, fd, NULL, 0, 0);
  int result = failure == 0 ? real(fd) : -1;
  if (result == 0) forget(file);
  pthread_mutex_unlock(&mutex);
  if (failure != 0) errno = failure;
  return result;
}

int fsync(int fd) { return sync_file(fd, real_fsync); }

int fdatasync(int fd) { return sync_file(fd, real_fdatasync); }

int ftruncate64(int fd, off_t size) {
  char path[512];
  int file = orders == NULL || orders->action == NOTHING ? -1 : file_by_fd(fd, path, sizeof path);
  if (file < 0) return real_ftruncate(fd, size);
  pthread_mutex_lock(&mutex);
  int failure = befall(file, TRUNCATE, fd, NULL, 0, 0);
  if (failure == 0 && orders->action == CUT_POWER) remember(fd, file, path, size, (size_t)1 << 40);
  int result = failure == 0 ? real_ftruncate(fd, size) : -1;
  pthread_mutex_unlock(&mutex);
  if (failure != 0) errno = failure;
  return result;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int unlink(const char *path) {
  int file = orders == NULL || orders->action == NOTHING ? -1 : file_by_path(path);
  if (file < 0) return real_unlink(path);
  pthread_mutex_lock(&mutex);
  int failure = befall(file, UNLINK, -1, NULL, 0, 0);
  int result = failure == 0 ? real_unlink(path) : -1;
  if (result == 0) forget(file);
  pthread_mutex_unlock(&mutex);
  if (failure != 0) errno = failure;
  return result;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_clock_gettime(clock, now);
  if (result != 0 || orders == NULL || clock != CLOCK_REALTIME) return result;
  int64_t ns = now->tv_nsec + orders->clock_offset_ms % 1000 * 1000000;
  int64_t carry = ns < 0 ? -1 : ns / 1000000000;
  now->tv_sec += orders->clock_offset_ms / 1000 + carry;
  now->tv_nsec = ns - carry * 1000000000;
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  if (real_gettimeofday == NULL) real_gettimeofday = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real_gettimeofday(now, zone);
  if (result == 0 && orders != NULL) now->tv_sec += orders->clock_offset_ms / 1000;
  return result;
}
