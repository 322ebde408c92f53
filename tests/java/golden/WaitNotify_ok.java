/** A queue of one place with wait and notifyAll, between two producers and two consumers. */
public class WaitNotify_ok {
    private Integer place;
    private int taken;

    synchronized void put(int value) throws InterruptedException {
        while (place != null) {
            wait();
        }
        place = value;
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        while (place == null) {
            wait();
        }
        int value = place;
        place = null;
        taken += value;
        notifyAll();
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        WaitNotify_ok queue = new WaitNotify_ok();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            boolean produces = i % 2 == 0;
            threads[i] = new Thread(() -> {
                try {
                    for (int k = 1; k <= 5; k++) {
                        if (produces) {
                            queue.put(k);
                        } else {
                            queue.take();
                        }
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, (produces ? "producer " : "consumer ") + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("taken " + queue.taken);
    }
}
