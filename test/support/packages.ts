import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

export const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** Names of the packages, which are also the names of their folders. */
export const PACKAGES = ['client', 'verify'] as const;

/** Runs npm without notes for people. */
export const npm = (args: readonly string[], cwd: string) => run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd });

/**
 * Packs both packages in a copy of the files that a clone of the repository has, so that tests that build in the repository are not disturbed.
 * @returns the paths of the tarballs, and a function that deletes them
 */
export async function packPackages(): Promise<{ tarballs: readonly string[]; remove(): Promise<void> }> {
  const copy = await mkdtemp(join(tmpdir(), 'coinop-packages-'));
  const isSource = (path: string) => !['dist', 'LICENSE'].includes(basename(path)) || path === join(root, 'LICENSE');
  for (const path of ['packages', 'src/lib', 'LICENSE', 'package.json'])
    await cp(join(root, path), join(copy, path), { recursive: true, filter: isSource });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const name of PACKAGES) await npm(['pack', '--pack-destination', copy], join(copy, 'packages', name));
  return { tarballs: PACKAGES.map((name) => join(copy, `coinop-${name}-0.2.0.tgz`)), remove: () => rm(copy, { recursive: true, force: true }) };
}
