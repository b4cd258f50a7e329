/* Preloaded into the processes of one platform: a clock that jumps, and a disk that is slow to confirm.

   The first page of FILE, which the test writes, holds two numbers: seconds that the wall clock is ahead, and microseconds that
   each fsync takes longer. The monotonic clock is the true one, as on a machine whose wall clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct state {
    volatile long ahead_s;
    volatile long sync_us;
};

static struct state truth;
static struct state *state = &truth;

__attribute__((constructor)) static void open_state(void) {
    int file = open(FILE, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    void *page = mmap(0, sizeof(struct state), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        state = page;
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, clock, now);
    if (done == 0 && is_wall(clock))
        now->tv_sec += state->ahead_s;
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

static void dawdle(void) {
    long left = state->sync_us;
    struct timespec pause = {left / 1000000, left % 1000000 * 1000};
    if (left > 0)
        nanosleep(&pause, 0);
}

int fsync(int file) {
    dawdle();
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    dawdle();
    return (int)syscall(SYS_fdatasync, file);
}

int syncfs(int file) {
    dawdle();
    return (int)syscall(SYS_syncfs, file);
}
