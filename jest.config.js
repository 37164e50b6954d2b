import { PATIENCE } from './test/support/patience.ts';

/** Tests run as Node's own modules, as the service does: see the runtime. */
export default {
  roots: ['<rootDir>/test'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testEnvironment: '<rootDir>/test/support/patient-environment.js',
  runtime: '<rootDir>/test/support/native-runtime.js',
  testSequencer: '<rootDir>/test/support/slow-first.js',
  transform: {},
  injectGlobals: false,
  testTimeout: 60_000 * PATIENCE,
  // More workers than cores: many tests wait for slots, beacons and killed processes.
  maxWorkers: 5,
};
