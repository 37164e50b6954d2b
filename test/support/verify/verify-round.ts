import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { drawsAddress } from '#platform/solana/draws/index.ts';
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

/** Options of a verifier that trusts no value of the service. The draws account of a localnet is under development rules. */
export function trustedOptions({ chain }: RewardsTest): string[] {
  const { keys, localnet, env } = chain;
  return [
    ...['--rpc', localnet.url, '--development'],
    ...['--beacon-url', `${localnet.url}/beacon`, '--beacon', env.DRAND_CHAIN_HASH ?? ''],
    ...['--draws', drawsAddress(keys.drawsProgram.publicKey, keys.founder.publicKey).toBase58()],
    ...['--treasury', keys.treasury.publicKey.toBase58()],
  ];
}
