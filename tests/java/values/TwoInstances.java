/** One start site, two threads: the abstract thread counts as two writers. */
public class TwoInstances {
    static int x;

    static class Worker extends Thread {
        final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            x = id;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Worker[] all = new Worker[2];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Worker(i + 1);
            all[i].start();
        }
        for (int i = 0; i < all.length; i++) {
            all[i].join();
        }
        System.out.println(x);
    }
}

// sources: TwoInstances.x can differ
// paper: TwoInstances.x can differ
// weak x > 0: TwoInstances.x no
