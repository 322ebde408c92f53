/** Two classes whose initialisers need each other: who comes first finds the other one unfinished. */
public class InitialisersMeet {
    static class Left {
        static int value = Right.value + 1;

        static int get() {
            return value;
        }
    }

    static class Right {
        static int value = Left.value + 1;

        static int get() {
            return value;
        }
    }

    static class Alone {
        static int value = 5;
    }

    static int taken;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> {
            synchronized (InitialisersMeet.class) {
                Left.get();
                taken = Alone.value;
            }
        });
        Thread two = new Thread(() -> {
            synchronized (InitialisersMeet.class) {
                Right.get();
            }
        });
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(Left.value + " " + Right.value + " " + Alone.value);
    }
}

// can differ: InitialisersMeet.Left.value, InitialisersMeet.Right.value
// proved: InitialisersMeet.Alone.value, InitialisersMeet.taken
// output: can differ
