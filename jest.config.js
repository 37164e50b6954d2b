/** Tests run as ES modules; Node strips their types. */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json', 'node'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.js' },
  testTimeout: 60_000,
  // More than there are cores: most tests wait for slots, beacons and killed processes.
  maxWorkers: 3,
};
