/** What a thread leaves in its own object is there for whoever has joined this very thread. */
class JoinedOneByOne extends Thread {
    private final int id;
    int sum;
    int early;
    int anothers;

    JoinedOneByOne(int id) {
        this.id = id;
    }

    @Override
    public void run() {
        for (int i = 0; i < 10; i++) {
            sum += id * i;
            early += id * i;
            anothers += id * i;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        JoinedOneByOne[] threads = new JoinedOneByOne[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new JoinedOneByOne(i);
        }
        for (JoinedOneByOne thread : threads) {
            thread.start();
        }
        int sums = 0;
        int others = 0;
        for (int i = 0; i < threads.length; i++) {
            JoinedOneByOne thread = threads[i];
            others += thread.early;
            thread.join();
            sums += thread.sum;
            others += threads[2 - i].anothers;
        }
        System.out.println(sums + others);
    }
}
// proved: JoinedOneByOne.sum
// can differ: JoinedOneByOne.early, JoinedOneByOne.anothers
