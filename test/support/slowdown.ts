/** Factor for time limits in tests of pure functions: while Node.js counts executed blocks for the coverage report, loops take much longer. */
export const SLOWDOWN = process.env.NODE_V8_COVERAGE ? 20 : 1;
