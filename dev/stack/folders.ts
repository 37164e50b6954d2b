import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { output } from './binaries.ts';
import type { Identity } from './child.ts';

/** A socket's path has to fit into 104 bytes (macOS; Linux allows 108), and this is the longest name we put into it. */
const LONGEST_RUN_FOLDER = 100 - '/.s.PGSQL.5432.lock'.length;

const userId = process.getuid?.() ?? 0;

/** Others pass through, because root's PostgreSQL is one of them; what they may not see is closed itself. */
const PASSABLE = 0o711;

let database: Identity | undefined;
/** The user PostgreSQL runs as: ourselves (undefined), except that it refuses to be root. */
export function databaseUser(): Identity | undefined {
  if (userId !== 0) return undefined;
  database ??= lookUp('postgres') ?? lookUp('nobody');
  if (!database) throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody');
  return database;
}

/**
 * The private data folder of a checkout: `COINOP_DATA`, else `.data` in the checkout, else (a root's home is closed to
 * the database user) a folder of this checkout below /var/lib.
 */
export function dataFolder(checkout: string, chosen: string | undefined): string {
  if (chosen) return checkedFolder(resolve(chosen), 'COINOP_DATA names');
  const root = realpathSync(checkout);
  if (isReachable(root)) return checkedFolder(join(root, '.data'), 'This checkout would use');
  const name = `${basename(root)}-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`;
  const elsewhere = userId === 0 ? '/var/lib/coinop' : join(homedir(), '.local/share/coinop');
  return checkedFolder(join(elsewhere, name), 'This checkout would use');
}

function checkedFolder(path: string, whose: string): string {
  if (!existsSync(path)) makeFolder(path, PASSABLE);
  const folder = realpathSync(path);
  if (!isReachable(folder)) {
    throw new Error(`${whose} ${folder}, which PostgreSQL's user cannot enter: set COINOP_DATA to a folder it can`);
  }
  return folder;
}

/** A new folder for things that end with this process, where PostgreSQL's user can reach it too. */
export function newTemporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(temporaryBase(), prefix));
  chmodSync(folder, PASSABLE);
  return folder;
}

/** Where temporary folders are made: the system's choice if it serves, else /tmp. */
export function temporaryBase(): string {
  const base = realpathSync(tmpdir());
  const serves = base.length <= LONGEST_RUN_FOLDER - 'coinop-run-123456'.length && isReachable(base);
  return serves ? base : realpathSync('/tmp');
}

/** Makes a folder that belongs to `owner` (or us), or makes sure that the one that is there does. */
export function makeFolder(path: string, mode: number, owner?: Identity): void {
  if (!existsSync(path)) {
    mkdirSync(path, { recursive: true });
    chmodSync(path, mode);
    if (owner) chownSync(path, owner.uid, owner.gid);
    return;
  }
  const { uid } = lstatSync(realpathSync(path));
  if (uid !== (owner?.uid ?? userId)) {
    throw new Error(`${path} belongs to another user (${uid}): run as that user, delete it, or set COINOP_DATA to another folder`);
  }
}

/**
 * The folder for a server's socket: `run` in its folder; where that makes the path too long, or one that would need
 * escapes in a URL, a link there to a short one.
 */
export function runFolder(folder: string, owner?: Identity): string {
  const inside = join(folder, 'run');
  const isPlain = Buffer.byteLength(inside) <= LONGEST_RUN_FOLDER && /^[\w./-]+$/.test(inside);
  const linked = linkTarget(inside);
  if (isPlain && linked === undefined) {
    makeFolder(inside, 0o700, owner);
    return inside;
  }
  const expected = { uid: owner?.uid ?? userId, mode: 0o40700 };
  const found = linked === undefined ? undefined : lstatSync(linked, { throwIfNoEntry: false });
  if (linked !== undefined && found?.uid === expected.uid && found.mode === expected.mode) return linked;
  rmSync(inside, { recursive: true, force: true });
  const short = mkdtempSync(join(temporaryBase(), 'coinop-run-'));
  if (owner) chownSync(short, owner.uid, owner.gid);
  symlinkSync(short, inside);
  return short;
}

/** Removes the short socket folder again, if there is one. */
export function removeRunFolder(folder: string): void {
  const inside = join(folder, 'run');
  const target = linkTarget(inside);
  if (target === undefined) return;
  if (basename(target).startsWith('coinop-run-')) rmSync(target, { recursive: true, force: true });
  rmSync(inside, { force: true });
}

function linkTarget(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? resolve(dirname(path), readlinkSync(path)) : undefined;
}

function isReachable(folder: string): boolean {
  const user = databaseUser();
  if (!user) return existsSync(folder);
  return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { cwd: '/', ...user }).status === 0;
}

function lookUp(name: string): Identity | undefined {
  try {
    return { uid: Number(output('id', ['-u', name])), gid: Number(output('id', ['-g', name])) };
  } catch {
    return undefined;
  }
}
