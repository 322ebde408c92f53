/** Nothing happens at the same time. */
public class OneThread {
    static int x;

    public static void main(String[] args) {
        for (int i = 0; i < args.length; i++) {
            x += args[i].length();
        }
        System.out.println(x);
    }
}

// proved: OneThread.x
// output: proved
