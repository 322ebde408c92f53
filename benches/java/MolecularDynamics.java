/** Particles in a box that attract and repel each other: two threads, each with half of the pairs. Argument: steps. */
public class MolecularDynamics {
    static final int COUNT = 400;

    static class Particle {
        double x, y, z, vx, vy, vz, fx, fy, fz;
    }

    static final Particle[] particles = new Particle[COUNT];

    /** Forces on the particles from this one on, as far as one thread adds them up. */
    static void forces(int first, int step, double[][] sums) {
        for (int i = first; i < COUNT; i += step) {
            Particle a = particles[i];
            for (int j = i + 1; j < COUNT; j++) {
                Particle b = particles[j];
                double dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
                double square = dx * dx + dy * dy + dz * dz + 0.01;
                if (square < 9) {
                    double inverse = 1 / square, power = inverse * inverse * inverse;
                    double force = (power - 0.5 * power * power) * inverse;
                    sums[0][i] += force * dx;
                    sums[1][i] += force * dy;
                    sums[2][i] += force * dz;
                    sums[0][j] -= force * dx;
                    sums[1][j] -= force * dy;
                    sums[2][j] -= force * dz;
                }
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int steps = Integer.parseInt(arguments[0]);
        for (int i = 0; i < COUNT; i++) {
            Particle own = particles[i] = new Particle();
            own.x = i % 8;
            own.y = i / 8 % 8;
            own.z = i / 64;
        }
        for (int step = 0; step < steps; step++) {
            double[][][] sums = new double[2][3][COUNT];
            Thread[] threads = new Thread[2];
            for (int t = 0; t < 2; t++) {
                int own = t;
                threads[t] = new Thread(() -> forces(own, 2, sums[own]));
                threads[t].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            for (int i = 0; i < COUNT; i++) {
                Particle own = particles[i];
                own.vx += 0.001 * (sums[0][0][i] + sums[1][0][i]);
                own.vy += 0.001 * (sums[0][1][i] + sums[1][1][i]);
                own.vz += 0.001 * (sums[0][2][i] + sums[1][2][i]);
                own.x += 0.001 * own.vx;
                own.y += 0.001 * own.vy;
                own.z += 0.001 * own.vz;
            }
        }
        double energy = 0;
        for (Particle own : particles) {
            energy += own.vx * own.vx + own.vy * own.vy + own.vz * own.vz;
        }
        System.out.println(energy);
    }
}
