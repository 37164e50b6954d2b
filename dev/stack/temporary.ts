import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { claim, claimant } from './claim.ts';
import { newTemporaryFolder, removeRunFolder, temporaryBase } from './folders.ts';
import { endLeftoverPostgres } from './postgres.ts';
import { endLeftoverRedis } from './redis.ts';

/** A folder is made a moment before it is claimed. */
const CLAIMED_AFTER = 60_000;

/** A folder for the PostgreSQL (`postgres`) and Redis (`redis`) of one run. */
export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** Makes a folder that goes with this run, and clears away those of runs that were killed before they could do so. */
export async function openTemporaryFolder(prefix: string): Promise<TemporaryFolder> {
  await sweep(prefix);
  const path = newTemporaryFolder(prefix);
  await claim(path);
  return { path, remove: () => remove(path) };
}

async function sweep(prefix: string): Promise<void> {
  const base = temporaryBase();
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(base, name);
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) continue;
    if (claimant(folder) !== undefined || Date.now() - stats.ctimeMs < CLAIMED_AFTER) continue;
    await endLeftoverPostgres(join(folder, 'postgres'));
    await endLeftoverRedis(join(folder, 'redis'));
    remove(folder);
  }
}

function remove(folder: string): void {
  for (const server of ['postgres', 'redis']) removeRunFolder(join(folder, server));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
