/** How fast barriers are: one with a counter and `wait`, one with flags in a tree, as Java benchmarks have them. */
public class BarrierBench {
    static final int THREADS = 4;
    static final int ROUNDS = 50;

    static class CountingBarrier {
        private int waiting;
        private boolean sense;

        synchronized void pass() throws InterruptedException {
            boolean mine = !sense;
            waiting++;
            if (waiting == THREADS) {
                waiting = 0;
                sense = mine;
                notifyAll();
                return;
            }
            while (sense != mine) {
                wait();
            }
        }
    }

    static class TreeBarrier {
        private final boolean[] arrived = new boolean[THREADS];
        private volatile boolean passed;

        void pass(int id) {
            boolean mine = !passed;
            for (int other = 2 * id + 1; other <= 2 * id + 2 && other < THREADS; other++) {
                while (arrived[other] != mine) {
                    Thread.yield();
                }
            }
            arrived[id] = mine;
            if (id == 0) {
                passed = mine;
            }
            while (passed != mine) {
                Thread.yield();
            }
        }
    }

    static class Counting extends Thread {
        final CountingBarrier barrier;

        Counting(CountingBarrier barrier) {
            this.barrier = barrier;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < ROUNDS; i++) {
                    barrier.pass();
                }
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    static class Tree extends Thread {
        final TreeBarrier barrier;
        final int id;

        Tree(TreeBarrier barrier, int id) {
            this.barrier = barrier;
            this.id = id;
        }

        @Override
        public void run() {
            for (int i = 0; i < ROUNDS; i++) {
                barrier.pass(id);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        CountingBarrier counting = new CountingBarrier();
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Counting(counting);
            threads[i].start();
        }
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
        }
        TreeBarrier tree = new TreeBarrier();
        Thread[] others = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            others[i] = new Tree(tree, i);
            others[i].start();
        }
        for (int i = 0; i < THREADS; i++) {
            others[i].join();
        }
        System.out.println("done");
    }
}

// threads: 3
// can differ: BarrierBench.CountingBarrier.waiting
// proved: BarrierBench.Tree.id
