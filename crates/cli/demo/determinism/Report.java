/** Workers with numbers of their own fill their own places; main adds up when all are done. */
public class Report {
    static int total;
    static final int[] parts = new int[4];
    static String last;

    static class Worker extends Thread {
        private final int number;
        private int sum;

        Worker(int number) {
            this.number = number;
        }

        @Override
        public void run() {
            for (int i = 0; i < 100; i++) {
                sum += i * number;
            }
            parts[number] = sum;
            last = "worker " + number;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Worker[] workers = new Worker[parts.length];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (int i = 0; i < workers.length; i++) {
            workers[i].join();
        }
        for (int part : parts) {
            total += part;
        }
        System.out.println(total);
    }
}
