/**
 * Park's thesis, Program 2.3: the web server Jigsaw shuts down while a client closes.
 *
 * races: none
 * deadlocks: 14-18
 */
public class Program23 {
    static class Factory {
        final Object csList = new Object();
        int idle = 1;
        int clients = 1;

        synchronized void decrIdleCount() { // 6
            idle--;
        }

        synchronized void killClients() { // 7
            synchronized (csList) { // 8
                clients = 0;
            }
        }
    }

    static final Factory factory = new Factory();

    static void first() {
        factory.killClients(); // 11
    }

    static void second() {
        synchronized (factory.csList) { // 4
            factory.decrIdleCount();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> first(), "first");
        Thread two = new Thread(() -> second(), "second");
        one.start();
        two.start();
        one.join();
        two.join();
    }
}
