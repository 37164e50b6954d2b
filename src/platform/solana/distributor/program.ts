import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { programState } from '../deployed-program.ts';
import { type Address, parseAddress } from '../primitives.ts';
import type { RpcNode } from '../rpc-node.ts';

const FILE = join(import.meta.dirname, '../../../../programs/distributor/distributor.so');

/** Maximum age of a check in the cache, ms. An upgradeable program can be replaced at any time. */
const MAX_AGE_MS = 5_000;

/** The deployed distributor program, compared with the committed file `distributor.so` and with the setting UPGRADE_AUTHORITY. */
export interface DistributorCheck {
  /** Whether the program consists of the bytes of the committed file. */
  readonly isOurs: boolean;
  /** Whether nobody can replace the program. */
  readonly isFinal: boolean;
  /** Reason why no epoch may be opened: other bytes, or an unexpected upgrade authority, which could empty every vault. Null when there is none. */
  readonly problem: string | null;
}

/**
 * Compares the deployed distributor program with the committed file and the expected upgrade authority, at finalized.
 * @param expected the address that may replace the program, base58; null when the program must be final. A final program is always accepted
 * @throws 503 when the RPC node does not answer
 */
export async function readDistributor(node: RpcNode, program: Address, expected: string | null): Promise<DistributorCheck> {
  const state = await programState(node, program, await readFile(FILE));
  if (!state) return { isOurs: false, isFinal: false, problem: `there is no program at ${program}` };
  const { isEqual, isFinal, upgradeAuthority } = state;
  if (!isEqual) return { isOurs: false, isFinal, problem: 'the program on the chain differs from distributor.so' };
  if (upgradeAuthority === null || upgradeAuthority === expected) return { isOurs: true, isFinal, problem: null };
  const wanted = expected === null ? 'the program must be final (UPGRADE_AUTHORITY)' : `UPGRADE_AUTHORITY is ${expected}`;
  return { isOurs: true, isFinal, problem: `the upgrade authority of the distributor program is ${upgradeAuthority}, but ${wanted}` };
}

/** The checks of this process by the address of the program, and the problem that each check logged last. */
const checks = perApp((app) => {
  const logged = new Map<string, string | null>();
  return ttlCache(MAX_AGE_MS, async (program: string): Promise<DistributorCheck> => {
    const check = await readDistributor(app.chain.node, parseAddress(program), app.config.chain.upgradeAuthority);
    const { problem } = check;
    const isConfigured = program === app.config.chain.programId;
    if (isConfigured && problem !== null && problem !== logged.get(program))
      app.log.warn({ program, problem }, 'no epoch is opened until the distributor program is right');
    logged.set(program, problem);
    return check;
  });
});

/**
 * Checks a deployed distributor program. The result is at most five seconds old.
 * @param program by default the configured program
 * @throws 503 when no program is configured, or the RPC node does not answer
 */
export const checkDistributor = async (app: App, program: Address = app.chain.programId): Promise<DistributorCheck> =>
  await app.state(checks).get(program.toBase58());

/** Returns the problem of the distributor program; null when there is none. A program that cannot be read counts as a problem. */
export async function distributorProblem(app: App): Promise<string | null> {
  try {
    return (await checkDistributor(app)).problem;
  } catch (error) {
    return `the distributor program cannot be read: ${error instanceof Error ? error.message : error}`;
  }
}

/** Checks the distributor program at the start of a process, so that the log shows a problem at once. Never throws: each epoch repeats the check. */
export function reportDistributor(app: App): void {
  if (app.config.chain.programId === null) return;
  checkDistributor(app).catch((err: unknown) => app.log.warn({ err }, 'the distributor program is not verified; each epoch repeats the check'));
}
