/*
 * parallel.c
 *    Threads of one query: a pool that is made at the first need and sleeps between queries.
 *
 * The session's thread is worker 0 and always works itself. Helpers block all signals, have a catch of their own, and hand the first Error to
 * the session's thread, which throws it once all have stopped. How many helpers may run is decided at each start: cores minus what the boxes
 * of all connections say is running, so that many busy connections do not start cores x connections threads.
 */
#include "backend/exec/run.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "backend/interrupt.h"
#include "common/shm/publish.h"

enum { MAX_WORKERS = 256, MAX_POOL = MAX_WORKERS - 1 };

typedef struct Job {
    Exec *exec;
    TaskFn fn;
    void *ctx;
    u64 next, count;      /* next is taken with counter_add_u64 */
    bool once_a_worker;
    u32 wanted, started, running; /* helpers; under the mutex */
    u32 failed;
    Error error;          /* of the first that failed; under the mutex */
} Job;

static struct {
    const Shm *shm;
    BoxShm *box;
    u32 own_slot, threads, cores;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    Job *job;
    u64 job_number;
    u32 pool_size;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

void
exec_init(const Shm *shm, u32 own_slot, u32 worker_threads)
{
    pool.shm = shm;
    pool.own_slot = own_slot;
    pool.box = shm ? shm_box(shm, own_slot) : NULL;
    pool.threads = MIN(worker_threads, (u32)MAX_WORKERS);
}

u32
exec_max_workers(void)
{
    if (!pool.cores) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        pool.cores = n > 0 ? (u32)MIN(n, (long)MAX_WORKERS) : 1;
    }
    return pool.threads ? pool.threads : pool.cores;
}

const Shm *
exec_shm(void)
{
    return pool.shm;
}

u32
exec_own_slot(void)
{
    return pool.own_slot;
}

void
worker_check(Worker *w)
{
    w->batches = 0;
    if (UNLIKELY(interrupt_pending()))
        interrupt_check();
}

/* Threads that other connections keep busy. */
static u32
busy_elsewhere(void)
{
    if (!pool.shm)
        return 0;
    u32 busy = 0;
    for (u32 i = 0; i < pool.shm->slot_count; i++) {
        if (i == pool.own_slot || observe_u32(&pool.shm->control->slots[i].pub_state) != SLOT_TAKEN)
            continue;
        const BoxShm *b = shm_box(pool.shm, i);
        busy += relaxed_u32(&b->helpers_running) + (relaxed_u32(&b->state) == BOX_ACTIVE);
    }
    return busy;
}

static u32
allowed_helpers(u32 wanted)
{
    u32 most = exec_max_workers();
    u32 helpers = MIN(wanted, most) - 1;
    if (!helpers)
        return 0;
    u32 busy = busy_elsewhere();
    u32 room = pool.cores > busy + 1 ? pool.cores - busy - 1 : 0;
    if (pool.threads > pool.cores && !busy)
        room = pool.threads - 1;
    return MIN(helpers, room);
}

static void
work_on(Job *job, Worker *w)
{
    if (job->once_a_worker) {
        job->fn(job->ctx, w, w->index);
        return;
    }
    for (;;) {
        if (observe_u32(&job->failed))
            return;
        u64 task = counter_add_u64(&job->next, 1);
        if (task >= job->count)
            return;
        worker_check(w);
        job->fn(job->ctx, w, task);
    }
}

/* The catch of this thread around its share; the first error goes into the job. */
static void
work_caught(Job *job, Worker *w)
{
    Catch here, *outer = current_catch;
    current_catch = &here;
    if (setjmp(here.jump) == 0) {
        work_on(job, w);
    } else {
        pthread_mutex_lock(&pool.mutex);
        if (!job->failed)
            job->error = here.error;
        publish_u32(&job->failed, 1);
        pthread_mutex_unlock(&pool.mutex);
    }
    current_catch = outer;
}

static void *
helper_main(void *arg)
{
    u64 seen = (u64)(uintptr_t)arg;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (!pool.job || pool.job_number == seen || pool.job->started >= pool.job->wanted)
            pthread_cond_wait(&pool.work, &pool.mutex);
        Job *job = pool.job;
        seen = pool.job_number;
        u32 index = ++job->started;
        job->running++;
        pthread_mutex_unlock(&pool.mutex);
        work_caught(job, &job->exec->workers[index]);
        pthread_mutex_lock(&pool.mutex);
        if (--job->running == 0)
            pthread_cond_signal(&pool.done);
    }
    return NULL;
}

/* Under the mutex. What cannot be started is not missed. */
static void
grow_pool(u32 size)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.pool_size < size) {
        pthread_t t;
        if (pthread_create(&t, NULL, helper_main, (void *)(uintptr_t)(pool.job_number)) != 0)
            break;
        pthread_detach(t);
        pool.pool_size++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
make_workers(Exec *e, u32 count)
{
    for (; e->worker_count < count; e->worker_count++) {
        Worker *w = &e->workers[e->worker_count];
        w->exec = e;
        w->index = e->worker_count;
        w->arena = arena_new("worker", e->ctx->memory_limit_bytes, arena_full_throw);
        w->scratch = arena_new("worker batch", e->ctx->memory_limit_bytes, arena_full_throw);
        w->wave = arena_new("worker result", e->ctx->memory_limit_bytes, arena_full_throw);
        if (!w->arena || !w->scratch || !w->wave)
            err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    }
}

static void
start_job(Job *job, u32 helpers)
{
    pthread_mutex_lock(&pool.mutex);
    job->wanted = helpers;
    pool.job = job;
    pool.job_number++;
    if (pool.pool_size < helpers) {
        pool.job_number--; /* new threads have seen nothing of this one */
        grow_pool(helpers);
        pool.job_number++;
    }
    if (helpers == 1)
        pthread_cond_signal(&pool.work);
    else
        pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.mutex);
}

static void
end_job(Job *job)
{
    pthread_mutex_lock(&pool.mutex);
    job->wanted = 0; /* who has not started stays away */
    while (job->running)
        pthread_cond_wait(&pool.done, &pool.mutex);
    pool.job = NULL;
    pthread_mutex_unlock(&pool.mutex);
}

static void
run_job(Exec *e, Job *job, u32 wanted)
{
    u32 helpers = wanted > 1 && !e->plan->serial ? allowed_helpers(wanted) : 0;
    if (!helpers) {
        work_on(job, &e->workers[0]);
        return;
    }
    make_workers(e, helpers + 1);
    if (pool.box)
        relax_store_u32(&pool.box->helpers_running, helpers);
    start_job(job, helpers);
    work_caught(job, &e->workers[0]);
    end_job(job);
    if (pool.box)
        relax_store_u32(&pool.box->helpers_running, 0);
    if (job->failed) {
        interrupt_check(); /* what ends the session is thrown as such */
        err_rethrow(&job->error);
    }
}

void
exec_parallel(Exec *e, u32 wanted, u64 count, TaskFn fn, void *ctx)
{
    Job job = {.exec = e, .fn = fn, .ctx = ctx, .count = count};
    run_job(e, &job, (u32)MIN((u64)wanted, count));
}

void
exec_on_workers(Exec *e, u32 wanted, TaskFn fn, void *ctx)
{
    Job job = {.exec = e, .fn = fn, .ctx = ctx, .once_a_worker = true};
    run_job(e, &job, wanted);
}
