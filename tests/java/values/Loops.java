/** Values through loops, calls, arrays, narrow types and conversions. */
public class Loops {
    static int counted;
    static byte small;
    static char letter;
    static int percent;
    static long wide;
    static int[] table = new int[10];
    static int index;
    static int rounded;
    static int wrapped = Integer.MAX_VALUE;

    static int clamp(int value) {
        if (value < 0) {
            return 0;
        }
        return value > 100 ? 100 : value;
    }

    static void work(int[] inputs) {
        for (int i = 0; i < 10; i++) {
            counted = i;
            table[i] = i % 3;
        }
        small = (byte) inputs.length;
        letter = (char) inputs[0];
        percent = clamp(inputs[1]);
        wide = 1L << 40;
        index = table[inputs[2] & 7];
        rounded = (int) 1e20;
        wrapped = wrapped + 1;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] inputs = new int[args.length];
        for (int i = 0; i < inputs.length; i++) {
            inputs[i] = Integer.parseInt(args[i]);
        }
        Thread one = new Thread(() -> work(inputs));
        one.start();
        one.join();
    }
}

// intervals: Loops.counted lambda [0..9]
// intervals: Loops.small lambda [-128..127]
// intervals: Loops.letter lambda [0..65535]
// intervals: Loops.percent lambda [0..100]
// intervals: Loops.wide lambda 1099511627776
// intervals: Loops.index lambda [0..2]
// intervals: Loops.rounded lambda 2147483647
// intervals: Loops.wrapped lambda -2147483648, main 2147483647
