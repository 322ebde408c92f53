/** Prices that wander: each of two threads makes half of the paths, with its own generator. Argument: paths. */
public class MonteCarlo {
    static class Generator {
        private long state;

        Generator(long seed) {
            state = seed;
        }

        double next() {
            state = state * 6364136223846793005L + 1442695040888963407L;
            return (state >>> 11) * 0x1.0p-53;
        }
    }

    static class Path {
        final double[] values = new double[250];
        double last;

        void wander(Generator generator) {
            values[0] = 100;
            for (int i = 1; i < values.length; i++) {
                double step = generator.next() + generator.next() + generator.next() - 1.5;
                values[i] = values[i - 1] * (1 + 0.01 * step);
            }
            last = values[values.length - 1];
        }
    }

    static double total;

    static synchronized void add(double value) {
        total += value;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int paths = Integer.parseInt(arguments[0]);
        Thread[] threads = new Thread[2];
        for (int t = 0; t < 2; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                Generator generator = new Generator(17 + own);
                for (int i = 0; i < paths / 2; i++) {
                    Path path = new Path();
                    path.wander(generator);
                    add(path.last);
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(Math.round(total / paths));
    }
}
