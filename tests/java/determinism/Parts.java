/** Parts of an array whose ends are computed before threads are made: by products, by quotients, by what is left. */
class Parts {
    static final int SIZE = 100;
    static final int THREADS = 4;
    static final int[] BY_PRODUCT = new int[SIZE];
    static final int[] BY_QUOTIENT = new int[SIZE];
    static final int[] OVERLAPPING = new int[SIZE + 1];

    static class Rest extends Thread {
        static int[] filled = new int[SIZE];
        private final int from;
        private final int to;

        Rest(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public void run() {
            for (int i = from; i < to; i++) {
                filled[i] = i;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int size = SIZE / THREADS;
        Thread[] threads = new Thread[THREADS];
        Thread[] others = new Thread[THREADS];
        for (int id = 0; id < THREADS; id++) {
            final int from = id * size;
            final int to = from + size;
            final int begin = id * SIZE / THREADS;
            final int end = (id + 1) * SIZE / THREADS;
            threads[id] = new Thread(() -> {
                for (int i = from; i < to; i++) {
                    BY_PRODUCT[i] = i;
                }
                for (int i = begin; i < end; i++) {
                    BY_QUOTIENT[i] = i;
                }
                for (int i = begin; i <= end; i++) {
                    OVERLAPPING[i] = begin;
                }
            });
            threads[id].start();
        }
        for (int id = 0; id < THREADS; id++) {
            others[id] = new Rest(id * 30, Math.min(SIZE, (id + 1) * 30));
            others[id].start();
        }
        for (int id = 0; id < THREADS; id++) {
            threads[id].join();
        }
        for (int id = 0; id < THREADS; id++) {
            others[id].join();
        }
    }
}
// proved: Parts.BY_PRODUCT[], Parts.BY_QUOTIENT[], Parts.Rest.filled[]
// can differ: Parts.OVERLAPPING[]
