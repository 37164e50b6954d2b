import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'owner';

/**
 * Locks a folder until the returned function is called or this process ends.
 * @throws when another running process holds the lock
 */
export function lock(folder: string): () => void {
  const path = join(folder, FILE);
  const mine = identity(process.pid);
  if (!create(path, mine)) {
    const owner = read(path);
    const pid = Number(owner.split(' ')[0]);
    if (pid > 0 && identity(pid) === owner) throw new Error(`${folder} is in use by process ${pid}: stop that process first`);
    rmSync(path, { force: true });
    if (!create(path, mine)) throw new Error(`${folder} is in use by a process that started at the same moment`);
  }
  return () => {
    if (read(path) === mine) rmSync(path, { force: true });
  };
}

function create(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Returns a process id and, on Linux, the start time of the process. The id alone is not unique, because the system reuses process ids. */
function identity(pid: number): string {
  try {
    process.kill(pid, 0);
  } catch {
    return `${pid} ended`;
  }
  if (process.platform !== 'linux') return `${pid} alive`;
  const stat = read(`/proc/${pid}/stat`);
  // The second field of `stat` is the program name in brackets and may contain spaces, so fields are counted after the last bracket. A zombie (state
  // Z) counts as an ended process.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return `${pid} ${fields[0] === 'Z' ? 'ended' : fields[19]}`;
}
