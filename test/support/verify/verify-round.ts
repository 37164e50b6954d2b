import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { RewardsTest } from '../solana/claims.ts';

/** The result of a command: exit status and output. */
export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `bin/verify-round`. */
export function verifyRound(...args: readonly string[]): Promise<CommandResult> {
  const command = join(import.meta.dirname, '../../../bin/verify-round');
  return new Promise((resolve) => {
    execFile(command, args, (error, out, err) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }));
  });
}

/** Options that accept the short times of test rounds. */
export const SHORT_TIMES = ['--least-lead', '3', '--least-margin', '1'];

/** Options of a verifier that trusts no value of the service. */
export const trustedOptions = ({ chain }: RewardsTest): string[] => [
  ...['--rpc', chain.localnet.url],
  ...SHORT_TIMES,
  ...['--beacon', `${chain.localnet.url}/beacon`],
  ...['--committer', chain.keys.committer.publicKey.toBase58()],
];
