/** How fast threads are made and joined. */
public class ForkJoinBench {
    static class Nothing implements Runnable {
        final int id;

        Nothing(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            // Only its start and its end are measured.
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int count = 4;
        for (int size = 1; size < 100; size = size * 2) {
            Runnable[] tasks = new Runnable[count];
            Thread[] threads = new Thread[count];
            for (int i = 1; i < count; i++) {
                tasks[i] = new Nothing(i);
                threads[i] = new Thread(tasks[i]);
                threads[i].start();
            }
            tasks[0] = new Nothing(0);
            tasks[0].run();
            for (int i = 1; i < count; i++) {
                threads[i].join();
            }
        }
        System.out.println("done");
    }
}

// threads: 2
// proved: ForkJoinBench.Nothing.id
// output: proved
