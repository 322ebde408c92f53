/** The same thread writes twice; the reader sees either. Writers do not tell, write instances do. */
public class SameWriter {
    static int x;
    static int seen;

    public static void main(String[] args) throws InterruptedException {
        x = 1;
        Thread reader = new Thread(() -> seen = x);
        reader.start();
        x = 2;
        reader.join();
        System.out.println(seen);
    }
}

// sources: SameWriter.x can differ
// paper: SameWriter.x proved
// sees: SameWriter.x {1, 2}
// weak sign: SameWriter.x yes
// weak parity: SameWriter.x no
