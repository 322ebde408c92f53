/** Nothing but accesses of one field and of elements of one array; says its CPU time. Argument: millions of them. */
public class Accesses {
    int field;

    static int run(Accesses object, int[] array, int count) {
        int sum = 0;
        for (int i = 0; i < count; i += 2) {
            sum += object.field;
            array[i & 15] = sum;
        }
        return sum;
    }

    public static void main(String[] arguments) {
        Accesses object = new Accesses();
        object.field = 3;
        int[] array = new int[16];
        long sum = 0;
        for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
            sum += run(object, array, 1_000_000);
        }
        System.out.println(sum);
        System.out.println("ms: " + ProcessHandle.current().info().totalCpuDuration().get().toMillis());
    }
}
