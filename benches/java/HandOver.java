/** Two threads that hand a turn over to each other, by wait and notify. Argument: how many thousand times. */
public class HandOver {
    private int turn;

    synchronized void take(int own, int count) {
        for (int i = 0; i < count; i++) {
            while (turn != own) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    return;
                }
            }
            turn = 1 - own;
            notify();
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int count = 1000 * Integer.parseInt(arguments[0]) / 2;
        HandOver own = new HandOver();
        Thread other = new Thread(() -> own.take(1, count));
        other.start();
        own.take(0, count);
        other.join();
        System.out.println(own.turn);
    }
}
