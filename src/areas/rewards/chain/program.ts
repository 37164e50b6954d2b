import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '#platform/app.ts';
import { deployedProgramMatches, programBytesAddress } from '#platform/solana/distributor/index.ts';
import { rpc } from '#platform/solana/solana.ts';

const FILE = join(import.meta.dirname, '../../../../programs/distributor/distributor.so');

/** How long a look at the program counts, ms. */
const KNOWN_MS = 600_000;

const known = new WeakMap<App, number>();

/**
 * Whether the program that is deployed is the one that is committed, byte for byte. Asked before anything is opened, and
 * again every ten minutes: a program that can be replaced may have been.
 * @throws 503 when the chain cannot be asked
 */
export async function isProgramOurs(app: App): Promise<boolean> {
  const at = known.get(app);
  if (at !== undefined && performance.now() - at < KNOWN_MS) return true;
  const { connection, programId } = app.chain;
  const bytes = await readFile(FILE);
  const account = await rpc(() => connection.getAccountInfo(programId, 'finalized'));
  const address = programBytesAddress(programId, account);
  const deployed = address === null || address.equals(programId) ? account : await rpc(() => connection.getAccountInfo(address, 'finalized'));
  if (address === null || !deployedProgramMatches(deployed, bytes)) return false;
  known.set(app, performance.now());
  return true;
}
