// about: Park's thesis, Program 2.3: the web server Jigsaw shuts down while a client closes. One cycle, factory and csList.
// races: none
// deadlocks: 14-21
#include <pthread.h>
#include <stdio.h>

static struct socket_client_factory {
    pthread_mutex_t monitor;
    pthread_mutex_t cs_list;
    int idle, clients;
} factory = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 1, 1};

static void decr_idle_count(struct socket_client_factory *this) {
    pthread_mutex_lock(&this->monitor); // 6
    this->idle--;
    pthread_mutex_unlock(&this->monitor);
}

static void kill_clients(struct socket_client_factory *this) {
    pthread_mutex_lock(&this->monitor); // 7
    pthread_mutex_lock(&this->cs_list); // 8
    this->clients = 0;
    pthread_mutex_unlock(&this->cs_list);
    pthread_mutex_unlock(&this->monitor);
}

static void *httpd(void *arg) {
    kill_clients(&factory); // 11
    return arg;
}

static void *socket_client(void *arg) {
    pthread_mutex_lock(&factory.cs_list); // 4
    decr_idle_count(&factory);
    pthread_mutex_unlock(&factory.cs_list);
    return arg;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, httpd, NULL);
    pthread_create(&two, NULL, socket_client, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%d %d\n", factory.idle, factory.clients);
    return 0;
}
