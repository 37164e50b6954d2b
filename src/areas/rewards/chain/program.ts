import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { programState } from '#platform/solana/deployed-program.ts';

const FILE = join(import.meta.dirname, '../../../../programs/distributor/distributor.so');

/** Time for which the result `true` is cached, ms. Then the check is repeated, because an upgradeable program can be replaced. */
const MAX_AGE_MS = 600_000;

const programCheck = perApp((app) => ttlCache(MAX_AGE_MS, (_key: 'program') => compareProgram(app)));

/**
 * Returns whether the program on the chain equals the committed file `distributor.so` byte for byte. Caches only the result `true`.
 * @throws 503 when the RPC node does not answer
 */
export async function isProgramOurs(app: App): Promise<boolean> {
  const check = app.state(programCheck);
  const isOurs = await check.get('program');
  if (!isOurs) check.delete('program');
  return isOurs;
}

async function compareProgram(app: App): Promise<boolean> {
  const { node, programId } = app.chain;
  return (await programState(node, programId, await readFile(FILE)))?.isEqual ?? false;
}
