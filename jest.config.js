import { PATIENCE } from './test/support/patience.ts';

/** Tests run as Node's own modules, as the service does: see the runtime. */
export default {
  roots: ['<rootDir>/test'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testEnvironment: '<rootDir>/test/support/patient-environment.js',
  runtime: '<rootDir>/test/support/native-runtime.js',
  testSequencer: '<rootDir>/test/support/slow-first.js',
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  transform: {},
  injectGlobals: false,
  testTimeout: 60_000 * PATIENCE,
  // One worker more than the cores of a small machine: many tests wait for slots, beacons and killed processes. With five workers on two slow cores, tests that
  // depend on real time fail.
  maxWorkers: 3,
};
