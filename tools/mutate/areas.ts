import { globSync } from 'node:fs';
import { CHECKOUT } from './source.ts';

/** The sources of one part of the project, and the tests that must notice each change of them. */
interface Area {
  /** Glob patterns of sources, relative to the checkout. */
  readonly sources: readonly string[];
  /** Glob patterns of test files, relative to the checkout. */
  readonly tests: readonly string[];
}

/** The test that compares the entities with the migrations. */
const SCHEMA = 'test/platform/db/entities.test.ts';

export const AREAS: Readonly<Record<string, Area>> = {
  lib: { sources: ['src/lib/**/*.ts'], tests: ['test/lib/**/*.test.ts'] },
  points: { sources: ['src/areas/points/**/*.ts'], tests: ['test/areas/points/**/*.test.ts', 'test/areas/admin/points.test.ts', SCHEMA] },
  'arcade/scores': {
    sources: ['src/areas/arcade/scores/**/*.ts'],
    tests: [
      'test/areas/arcade/**/*.test.ts',
      'test/areas/admin/arcade.test.ts',
      'test/areas/events/scores.test.ts',
      'test/areas/battles/scores.test.ts',
    ],
  },
  rewards: { sources: ['src/areas/rewards/**/*.ts'], tests: ['test/areas/rewards/**/*.test.ts', SCHEMA] },
  payouts: { sources: ['src/areas/payouts/**/*.ts'], tests: ['test/areas/payouts/**/*.test.ts', SCHEMA] },
  lottery: { sources: ['src/areas/lottery/**/*.ts'], tests: ['test/areas/lottery/**/*.test.ts', 'test/areas/actions/*.test.ts', SCHEMA] },
  'platform/solana': {
    sources: ['src/platform/solana/**/*.ts'],
    tests: [
      'test/platform/solana/**/*.test.ts',
      'test/programs/*/client.test.ts',
      'test/programs/build.test.ts',
      'test/programs/deploy.test.ts',
      'test/areas/wallets/*.test.ts',
      'test/areas/burns/transactions.test.ts',
    ],
  },
};

/** Returns the test files of an area, without the long ones (`*.long.test.ts`), because one of them takes longer than all others for most mutants. */
export function testsOf({ tests }: Area): string[] {
  return filesOf(tests).filter((file) => !file.endsWith('.long.test.ts'));
}

/** Returns the files of glob patterns, sorted, relative to the checkout. */
export function filesOf(patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: CHECKOUT })).sort();
}
