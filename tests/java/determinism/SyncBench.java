/** How fast synchronized methods and blocks are. */
public class SyncBench {
    static class Counter {
        private int count;

        synchronized void add() {
            count++;
        }

        int get() {
            return count;
        }
    }

    static class ByMethod extends Thread {
        final Counter counter;
        final int times;

        ByMethod(Counter counter, int times) {
            this.counter = counter;
            this.times = times;
        }

        @Override
        public void run() {
            for (int i = 0; i < times; i++) {
                counter.add();
            }
        }
    }

    static class ByBlock extends Thread {
        static int shared;
        final Object lock;
        final int times;

        ByBlock(Object lock, int times) {
            this.lock = lock;
            this.times = times;
        }

        @Override
        public void run() {
            for (int i = 0; i < times; i++) {
                synchronized (lock) {
                    shared++;
                }
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int count = 4;
        Counter counter = new Counter();
        Thread[] methods = new Thread[count];
        for (int i = 0; i < count; i++) {
            methods[i] = new ByMethod(counter, 1000);
            methods[i].start();
        }
        for (int i = 0; i < count; i++) {
            methods[i].join();
        }
        Object lock = new Object();
        Thread[] blocks = new Thread[count];
        for (int i = 0; i < count; i++) {
            blocks[i] = new ByBlock(lock, 1000);
            blocks[i].start();
        }
        for (int i = 0; i < count; i++) {
            blocks[i].join();
        }
        System.out.println(counter.get() + ByBlock.shared);
    }
}

// threads: 3
// proved: SyncBench.Counter.count, SyncBench.ByBlock.shared
// output: proved
