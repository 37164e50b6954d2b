import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { output } from './binaries.ts';
import type { Identity } from './child.ts';

/**
 * Maximum length of the path of a socket folder, bytes. A unix socket path may have at most 104 bytes on macOS and 108 on Linux, so this maximum
 * leaves room for the longest file name in the folder, `.s.PGSQL.5432.lock`.
 */
const MAX_SOCKET_FOLDER_BYTES = 100 - '/.s.PGSQL.5432.lock'.length;

const userId = process.getuid?.() ?? 0;

/** Folder mode that lets other users, such as the PostgreSQL user, enter the folder but not list it. Private folders inside it have mode 0700. */
const TRAVERSABLE = 0o711;

let database: Identity | undefined;
/** Returns the system user that PostgreSQL runs as: undefined (the current user), or `postgres` or `nobody` if the current user is root. */
export function databaseUser(): Identity | undefined {
  if (userId !== 0) return undefined;
  database ??= identityOf('postgres') ?? identityOf('nobody');
  if (!database) throw new Error('PostgreSQL does not run as root, and neither the user postgres nor the user nobody exists');
  return database;
}

/**
 * Returns the data folder of a checkout:
 * - `chosen` (COINOP_DATA), if it is set
 * - otherwise `.data` in the checkout, if the database user can enter the checkout
 * - otherwise a folder below /var/lib/coinop (current user is root) or below ~/.local/share/coinop (any other user)
 */
export function dataFolder(checkout: string, chosen: string | undefined): string {
  if (chosen) return checkedFolder(resolve(chosen), 'COINOP_DATA names');
  const root = realpathSync(checkout);
  if (isReachable(root)) return checkedFolder(join(root, '.data'), 'This checkout would use');
  const name = `${basename(root)}-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`;
  const elsewhere = userId === 0 ? '/var/lib/coinop' : join(homedir(), '.local/share/coinop');
  return checkedFolder(join(elsewhere, name), 'This checkout would use');
}

function checkedFolder(path: string, reason: string): string {
  if (!existsSync(path)) makeFolder(path, TRAVERSABLE);
  const folder = realpathSync(path);
  if (!isReachable(folder)) {
    throw new Error(`${reason} ${folder}, which PostgreSQL's user cannot enter: set COINOP_DATA to another folder`);
  }
  return folder;
}

/** Creates a temporary folder that PostgreSQL's user can enter. */
export function newTemporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(temporaryBase(), prefix));
  chmodSync(folder, TRAVERSABLE);
  return folder;
}

/**
 * Returns the folder in which temporary folders are created: the system's temporary folder if its path is short enough for unix sockets and the
 * database user can enter it, else /tmp.
 */
export function temporaryBase(): string {
  const base = realpathSync(tmpdir());
  const isUsable = base.length <= MAX_SOCKET_FOLDER_BYTES - 'coinop-run-123456'.length && isReachable(base);
  return isUsable ? base : realpathSync('/tmp');
}

/** Creates a folder that belongs to `owner` (default: the current user). @throws when the folder exists and belongs to another user */
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
 * Creates the folder of a server's unix socket and returns its path: `run` in the server's folder. If that path is too long, or has characters that
 * must be escaped in a URL, `run` becomes a symbolic link to a temporary folder, and the path of the temporary folder is returned.
 */
export function socketFolder(folder: string, owner?: Identity): string {
  const inside = join(folder, 'run');
  const isPlain = Buffer.byteLength(inside) <= MAX_SOCKET_FOLDER_BYTES && /^[\w./-]+$/.test(inside);
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

/** Deletes the symbolic link `run` in a server's folder and the temporary socket folder that it leads to. Does nothing if `run` is not a link. */
export function removeSocketFolder(folder: string): void {
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

function identityOf(name: string): Identity | undefined {
  try {
    return { uid: Number(output('id', ['-u', name])), gid: Number(output('id', ['-g', name])) };
  } catch {
    return undefined;
  }
}
