import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder, lockOwner } from './folder-lock.ts';
import { newTemporaryFolder, removeSocketFolder, temporaryBase } from './folders.ts';
import { MEMBERS } from './patroni/member.ts';
import { stopOrphanedPostgres } from './postgres.ts';
import { stopOrphanedRedis } from './redis.ts';
import { stopOrphanedGroup } from './redis-group/group.ts';

/** The folders of PostgreSQL servers: one alone, or two under Patroni. */
const POSTGRES = ['postgres', ...MEMBERS.map((name) => join('patroni', name))];

/** Minimum age at which a folder without a lock is deleted, ms. The run that created a younger folder may not have locked it yet. */
const LOCK_GRACE_MS = 60_000;

/** A temporary folder for the PostgreSQL (`postgres`) and Redis (`redis`) of one run. */
export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** Creates a temporary folder for this run, and deletes the folders of killed runs. */
export async function openTemporaryFolder(prefix: string): Promise<TemporaryFolder> {
  await sweep(prefix);
  const path = newTemporaryFolder(prefix);
  await lockFolder(path);
  return { path, remove: () => remove(path) };
}

async function sweep(prefix: string): Promise<void> {
  const base = temporaryBase();
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(base, name);
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) continue;
    if (lockOwner(folder) !== undefined || Date.now() - stats.ctimeMs < LOCK_GRACE_MS) continue;
    for (const server of POSTGRES) await stopOrphanedPostgres(join(folder, server));
    await stopOrphanedRedis(join(folder, 'redis'));
    await stopOrphanedGroup(join(folder, 'redis'));
    remove(folder);
  }
}

function remove(folder: string): void {
  for (const server of [...POSTGRES, 'redis']) removeSocketFolder(join(folder, server));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
