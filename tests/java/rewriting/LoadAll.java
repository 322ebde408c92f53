import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Loads and links every class of jars, without initializing it, and counts those that the verifier refuses. */
public class LoadAll {
    public static void main(String[] arguments) throws Exception {
        int loaded = 0, missing = 0;
        for (String name : arguments) {
            try (JarFile jar = new JarFile(name)) {
                List<JarEntry> entries = Collections.list(jar.entries());
                for (JarEntry entry : entries) {
                    String path = entry.getName();
                    if (!path.endsWith(".class") || path.startsWith("META-INF/") || path.endsWith("-info.class")) {
                        continue;
                    }
                    String own = path.substring(0, path.length() - 6).replace('/', '.');
                    try {
                        // Asking for its methods links a class, which verifies it.
                        Class.forName(own, false, LoadAll.class.getClassLoader()).getDeclaredMethods();
                        loaded++;
                    } catch (VerifyError | ClassFormatError e) {
                        System.out.println("REFUSED " + own + ": " + e);
                    } catch (LinkageError | ClassNotFoundException e) {
                        // Needs a library that is not here.
                        missing++;
                    }
                }
            }
        }
        System.out.println(loaded + " classes loaded and verified, " + missing + " need others that are not here");
    }
}
