/** deadlock: two classes that need each other are initialized by two threads. */
public class Initializer_bad {
    static class Left {
        static int value = 1;

        static {
            value += Right.value;
        }
    }

    static class Right {
        static int value = 1;

        static {
            value += Left.value;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread left = new Thread(() -> System.out.println(Left.value > 0), "left");
        Thread right = new Thread(() -> System.out.println(Right.value > 0), "right");
        left.start();
        right.start();
        left.join();
        right.join();
    }
}
