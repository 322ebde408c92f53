// about: GLib's threads, mutex, condition and queue, whose library is not instrumented (needs the GLib development files).
// exit: 0
// flags: `pkg-config --cflags --libs glib-2.0`
// needs: glib-2.0
#include <glib.h>
#include <stdio.h>

static GMutex lock;
static GCond changed;
static int ready, sum;

static gpointer work(gpointer data) {
    GAsyncQueue *queue = data;
    g_mutex_lock(&lock);
    while (!ready)
        g_cond_wait(&changed, &lock);
    g_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++)
        sum += GPOINTER_TO_INT(g_async_queue_pop(queue));
    return NULL;
}

int main(void) {
    GAsyncQueue *queue = g_async_queue_new();
    GThread *worker = g_thread_new("worker", work, queue);
    g_mutex_lock(&lock);
    ready = 1;
    g_cond_signal(&changed);
    g_mutex_unlock(&lock);
    for (int i = 1; i <= 3; i++)
        g_async_queue_push(queue, GINT_TO_POINTER(i));
    g_thread_join(worker);
    g_async_queue_unref(queue);
    printf("sum %d\n", sum);
    return 0;
}
