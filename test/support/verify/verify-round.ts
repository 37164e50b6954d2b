import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { RewardsTest } from '../solana/claims.ts';

/** How a command ended, and what it said. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `bin/verify-round` as anybody would. */
export function verifyRound(...args: readonly string[]): Promise<Ran> {
  const command = join(import.meta.dirname, '../../../bin/verify-round');
  return new Promise((resolve) => {
    execFile(command, args, (error, out, err) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }));
  });
}

/** The times of a test's rounds. */
export const HASTE = ['--least-lead', '3', '--least-margin', '1'];

/** What somebody gives who takes nobody's word. */
export const pinned = ({ chain }: RewardsTest): string[] => [
  ...['--rpc', chain.localnet.url],
  ...HASTE,
  ...['--beacon', `${chain.localnet.url}/beacon`],
  ...['--committer', chain.keys.committer.publicKey.toBase58()],
];
