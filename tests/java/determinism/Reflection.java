/** A method that is called by its name may do anything to what it can reach. */
public class Reflection {
    static int touched;

    public static void set() {
        touched = 1;
    }

    public static void main(String[] args) throws Exception {
        int own = 3;
        Reflection.class.getMethod(args.length > 0 ? args[0] : "set").invoke(null);
        System.out.println(touched + own);
    }
}

// unknown: Reflection.touched
// output: unknown
