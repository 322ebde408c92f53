/** A step more or less, as the input has it: no choice of the threads. */
public class InputShifts {
    static int x;
    static int y;

    public static void main(String[] args) throws InterruptedException {
        if (args.length > 0) {
            x = 5;
        }
        Thread worker = new Thread(() -> y = 7);
        worker.start();
        worker.join();
        System.out.println(x + y);
    }
}

// sources: InputShifts.x proved
// paper: InputShifts.x proved
// sources: InputShifts.y proved
// paper: InputShifts.y proved
