import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { errorCode, isAlive } from './child.ts';

const LOCK_FILE = 'owner';

/**
 * Locks a folder until `unlockFolder` is called or this process ends.
 * @throws when another running process holds the lock
 */
export async function lockFolder(folder: string): Promise<void> {
  const file = join(folder, LOCK_FILE);
  const mine = identity(process.pid);
  while (!create(file, mine)) {
    const owner = lockOwner(folder);
    if (owner !== undefined) throw new Error(`${folder} is in use by process ${owner}: stop that process first`);
    rmSync(file, { force: true });
  }
  // Two processes may find the lock file of the same ended process at the same moment. Then one process may delete the lock file that the other
  // process has just created. So each process waits, then reads the file: the process whose id is in the file holds the lock.
  await sleep(20);
  if (read(file) !== mine) throw new Error(`${folder} is in use by another process that started at the same moment`);
}

/** Removes this process's lock from a folder. */
export function unlockFolder(folder: string): void {
  const file = join(folder, LOCK_FILE);
  if (read(file) === identity(process.pid)) rmSync(file, { force: true });
}

/** Returns the id of the running process that holds the lock of a folder; undefined if the folder is not locked. */
export function lockOwner(folder: string): number | undefined {
  const content = read(join(folder, LOCK_FILE));
  const pid = Number(content?.split(' ')[0]);
  return pid > 0 && isAlive(pid) && identity(pid) === content ? pid : undefined;
}

function create(file: string, content: string): boolean {
  try {
    writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Returns a process id and the start time of the process. The id alone is not unique, because the system reuses process ids. */
function identity(pid: number): string {
  return `${pid} ${startOf(pid)}`;
}

function startOf(pid: number): string {
  try {
    if (process.platform !== 'linux') return output('ps', ['-o', 'lstart=', '-p', String(pid)]);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field of `stat` is the program name in brackets and may contain spaces, so fields are counted after the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie (a process that has ended but is still listed) counts as ended. In a container without an init process a zombie is never removed, so
    // its lock would never become free.
    if (fields[0] === 'Z') return 'ended';
    const started = fields[19];
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${started}`;
  } catch {
    return '';
  }
}
