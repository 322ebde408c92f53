/** Two writers and no reader: what is left at the end is a read of the definition. */
public class BlindWriters {
    static int x;
    static int untouched = 7;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> x = 1);
        Thread other = new Thread(() -> x = 3);
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(untouched);
    }
}

// sources: BlindWriters.x can differ
// paper: BlindWriters.x can differ
// weak parity: BlindWriters.x yes
// weak const: BlindWriters.x no
// sources: BlindWriters.untouched proved
// paper: BlindWriters.untouched proved
// intervals: BlindWriters.untouched main 7
