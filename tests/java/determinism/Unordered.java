import java.util.concurrent.*;

/** What looks like an order that the library keeps, and is none. */
public class Unordered {
    static int hash, single, first;

    static class Taker implements Runnable {
        final BlockingQueue<Integer> from;
        int sum;

        Taker(BlockingQueue<Integer> from) {
            this.from = from;
        }

        @Override
        public void run() {
            try {
                sum = from.take();
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        BlockingQueue<Integer> many = new LinkedBlockingQueue<>();
        for (int k = 0; k < 2; k++) {
            final int id = k;
            new Thread(() -> {
                try {
                    many.put(id);
                } catch (InterruptedException e) {
                    throw new RuntimeException(e);
                }
            }).start();
        }
        hash = many.take() * 31 + many.take();

        BlockingQueue<Integer> shared = new LinkedBlockingQueue<>();
        Taker[] takers = {new Taker(shared), new Taker(shared)};
        Thread[] threads = {new Thread(takers[0]), new Thread(takers[1])};
        threads[0].start();
        threads[1].start();
        shared.put(1);
        shared.put(2);
        threads[0].join();
        threads[1].join();
        single = takers[0].sum;

        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<?> one = pool.submit(() -> { first = 1; });
        Future<?> two = pool.submit(() -> { first = 2; });
        one.get();
        two.get();
        pool.shutdown();
        System.out.println(hash + " " + single + " " + first);
    }
}
// output: can differ
// can differ: Unordered.hash, Unordered.single, Unordered.first
