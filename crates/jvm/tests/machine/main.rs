//! Tests with a Java machine. Those that need a JDK say so and pass where there is none.

mod hooks;
mod programs;
mod support;
