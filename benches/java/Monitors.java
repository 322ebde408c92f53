/** One thread takes a monitor that nobody else wants, and gives it back. Argument: how many thousand times. */
public class Monitors {
    private int count;

    synchronized void add() {
        count++;
    }

    public static void main(String[] arguments) {
        Monitors own = new Monitors();
        for (int i = 1000 * Integer.parseInt(arguments[0]); i > 0; i--) {
            own.add();
        }
        System.out.println(own.count);
    }
}
